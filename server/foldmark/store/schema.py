"""The database's shape: numbered, forward-only migrations.

`log` is append-only, and triggers hold it to that. Everything else is bookkeeping that can be
rebuilt: `sessions` describes, `rewinds` indexes the active branch, `sources` remembers how far a
transcript was read, `claims` says who is compacting what right now, `drafts` and `models` keep
what was paid for and could only be paid for again.
"""

APPLICATION_ID = 0x464F4C44  # "FOLD": tells our file from another program's database

MIGRATIONS: tuple[str, ...] = (
    # 1: the log and its bookkeeping.
    """
    CREATE TABLE sessions (
        key          INTEGER PRIMARY KEY,
        id           TEXT NOT NULL UNIQUE,
        assistant    TEXT NOT NULL,
        parent       TEXT NOT NULL DEFAULT '',   -- the session a subagent worked for
        project      TEXT NOT NULL DEFAULT '',
        branch       TEXT NOT NULL DEFAULT '',   -- of git, as last reported
        title        TEXT NOT NULL DEFAULT '',
        first_prompt TEXT NOT NULL DEFAULT '',
        last_prompt  TEXT NOT NULL DEFAULT '',
        updated      REAL NOT NULL               -- seconds since 1970
    ) STRICT;
    CREATE INDEX sessions_by_age ON sessions (updated DESC, id);
    CREATE INDEX sessions_by_parent ON sessions (parent) WHERE parent <> '';

    -- One row a record. `head` is the pos of the row that this one continues or rewrites, its own
    -- pos otherwise. `messages` and `chars` count the log up to and with this row, so that a range
    -- is measured by its two ends. `raw` is the record itself, compressed with Zstandard.
    CREATE TABLE log (
        seq        INTEGER PRIMARY KEY,
        session    INTEGER NOT NULL REFERENCES sessions (key),
        pos        INTEGER NOT NULL,
        head       INTEGER NOT NULL,
        kind       TEXT NOT NULL CHECK (kind IN ('message', 'marker', 'summary', 'fork', 'other')),
        ours       INTEGER NOT NULL DEFAULT 0,   -- written by Foldmark, not by the assistant
        id         TEXT NOT NULL,
        parent     TEXT NOT NULL,
        message    TEXT NOT NULL,
        target     TEXT NOT NULL,             -- a marker's first kept, a fork's first replaced
        prompt     INTEGER NOT NULL,
        at         TEXT NOT NULL,
        messages   INTEGER NOT NULL,
        chars      INTEGER NOT NULL,
        raw        BLOB NOT NULL
    ) STRICT;
    CREATE UNIQUE INDEX log_by_pos ON log (session, pos);
    CREATE INDEX log_by_id ON log (session, id);
    CREATE INDEX log_continued ON log (session, head, pos) WHERE head <> pos;
    CREATE INDEX log_prompts ON log (session, pos) WHERE prompt = 1;
    CREATE INDEX log_attempts ON log (session, head, pos) WHERE kind IN ('marker', 'summary');
    CREATE TRIGGER log_is_append_only_update BEFORE UPDATE ON log
        BEGIN SELECT RAISE(ABORT, 'the log is append-only'); END;
    CREATE TRIGGER log_is_append_only_delete BEFORE DELETE ON log
        BEGIN SELECT RAISE(ABORT, 'the log is append-only'); END;

    -- Rows off the active branch; `messages` and `chars` without those of rewinds inside.
    CREATE TABLE rewinds (
        session  INTEGER NOT NULL REFERENCES sessions (key),
        first    INTEGER NOT NULL,
        last     INTEGER NOT NULL,
        messages INTEGER NOT NULL,
        chars    INTEGER NOT NULL,
        PRIMARY KEY (session, first, last)
    ) STRICT, WITHOUT ROWID;

    -- How far a transcript was read. `consumed` bytes are in the log; `head` and `tail` are digests
    -- of the first and the last few of them, to notice a file that was rewritten.
    CREATE TABLE sources (
        path       TEXT PRIMARY KEY,
        session    TEXT NOT NULL,
        consumed   INTEGER NOT NULL,
        lines      INTEGER NOT NULL,
        size       INTEGER NOT NULL,
        modified   INTEGER NOT NULL,             -- nanoseconds since 1970
        head       BLOB NOT NULL,
        tail       BLOB NOT NULL,
        discarding INTEGER NOT NULL,
        skipped    INTEGER NOT NULL,
        places     TEXT NOT NULL,                -- the first skipped lines, as JSON
        restarts   INTEGER NOT NULL              -- times the file turned out shorter or rewritten
    ) STRICT;
    CREATE INDEX sources_by_session ON sources (session);

    CREATE TABLE claims (
        session INTEGER PRIMARY KEY REFERENCES sessions (key),
        marker  TEXT NOT NULL,
        owner   TEXT NOT NULL,
        expires REAL NOT NULL                    -- seconds since 1970
    ) STRICT;
    """,
    # 2: what a model wrote before its session had a summary, and what models bill.
    """
    CREATE TABLE drafts (
        session INTEGER NOT NULL REFERENCES sessions (key),
        digest  TEXT NOT NULL,                   -- of all that it covers
        text    TEXT NOT NULL,
        PRIMARY KEY (session, digest)
    ) STRICT, WITHOUT ROWID;

    CREATE TABLE models (
        id     TEXT PRIMARY KEY,
        units  REAL NOT NULL,                    -- of text sent to it, as Foldmark measures
        tokens INTEGER NOT NULL                  -- that it billed for them
    ) STRICT, WITHOUT ROWID;
    """,
    # 3: other assistants name the model in another record, fork into files of their own, and tell
    # in early records what holds for later ones.
    """
    ALTER TABLE log ADD COLUMN model TEXT NOT NULL DEFAULT '';
    ALTER TABLE sessions ADD COLUMN forked_from TEXT NOT NULL DEFAULT '';
    ALTER TABLE sources ADD COLUMN state TEXT NOT NULL DEFAULT '{}';    -- of the reader, as JSON
    ALTER TABLE sources ADD COLUMN unknown TEXT NOT NULL DEFAULT '{}';  -- counts by type, as JSON
    """,
)
