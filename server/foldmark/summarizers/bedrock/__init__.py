"""Amazon Bedrock: a model that is paid for writes the summary.

    summarizer   what is asked of the model, piece by piece, and what is taken for an answer
    prompt       the words it is asked with
    window       how much text fits into one request
    models       what is known of each model
    asking       how often a busy service is asked
    client       boto3, on a thread of its own
    faults       what each failure means, and what a person can do about it
    probe        what can be known without asking a model

boto3 is imported when Bedrock is first called, by `client` alone.
"""
