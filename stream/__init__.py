"""The application: the Spark job, Kafka and the command line."""
