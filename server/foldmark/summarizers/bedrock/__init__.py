"""Amazon Bedrock: a model that is paid for writes the summary.

    summarizer   what is asked of the model, piece by piece, and what is taken for an answer
    prompt       the words it is asked with
    models       what is known of each model
    client       boto3, on a thread of its own
    faults       what each failure means, and what a person can do about it

boto3 is imported when Bedrock is first called, by `client` alone.
"""
