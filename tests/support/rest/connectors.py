"""Connectors as people write them for Kafka Connect: Debezium's, Aiven's, MSK's, Strimzi's, Tabular's and others' keys."""

from __future__ import annotations

from typing import Final

HOSTS: Final = "*.example,*.amazonaws.com,s3://lake"
IDENTITIES: Final = "lake_*,aws-identity:*"
"""What the operator lists for all of them: hosts, and connections and identities of the workers."""

_PLAIN: Final = {
    "connector.class": "org.apache.iceberg.connect.IcebergSinkConnector",
    "tasks.max": "2",
    "topics": "orders",
    "iceberg.tables": "db.orders",
    "iceberg.catalog.type": "rest",
    "iceberg.catalog.uri": "http://catalog.example:8181",
    "value.converter": "org.apache.kafka.connect.json.JsonConverter",
    "value.converter.schemas.enable": "false",
}
_AVRO: Final = "io.confluent.connect.avro.AvroConverter"
_JSON: Final = "org.apache.kafka.connect.json.JsonConverter"
_REGISTRY: Final = "https://registry.example:8081"
_PEM: Final = "-----BEGIN CERTIFICATE-----\nMIIB/x\n-----END CERTIFICATE-----"

CONNECTORS: Final[dict[str, dict[str, str]]] = {
    "plain": {},
    "converters": {
        "connector.plugin.version": "1.9.2",
        "key.converter": _JSON,
        "key.converter.schemas.enable": "false",
        "header.converter": "org.apache.kafka.connect.storage.SimpleHeaderConverter",
        "header.converter.schemas.enable": "false",
        "value.converter.decimal.format": "NUMERIC",
        "value.converter.replace.null.with.default": "false",
        "value.converter.schemas.cache.size": "100",
    },
    "confluent": {
        "key.converter": _AVRO,
        "key.converter.schema.registry.url": _REGISTRY,
        "key.converter.basic.auth.credentials.source": "USER_INFO",
        "key.converter.basic.auth.user.info": "user:password",
        "value.converter": _AVRO,
        "value.converter.schema.registry.url": f"{_REGISTRY},http://second.example:8081",
        "value.converter.basic.auth.credentials.source": "USER_INFO",
        "value.converter.basic.auth.user.info": "user:password",
        "value.converter.enhanced.avro.schema.support": "true",
        "value.converter.auto.register.schemas": "false",
        "value.converter.value.subject.name.strategy": "io.confluent.kafka.serializers.subject.TopicNameStrategy",
        "value.converter.schema.registry.ssl.truststore.type": "PEM",
        "value.converter.schema.registry.ssl.truststore.certificates": _PEM,
    },
    "confluent-token": {
        "value.converter": "io.confluent.connect.protobuf.ProtobufConverter",
        "value.converter.schema.registry.url": _REGISTRY,
        "value.converter.bearer.auth.credentials.source": "OAUTHBEARER",
        "value.converter.bearer.auth.issuer.endpoint.url": "https://login.example/token",
        "value.converter.bearer.auth.client.id": "floe",
        "value.converter.bearer.auth.client.secret": "secret-of-floe",
        "value.converter.bearer.auth.logical.cluster": "lsrc-1",
    },
    "apicurio": {
        "value.converter": "io.apicurio.registry.utils.converter.AvroConverter",
        "value.converter.apicurio.registry.url": "http://registry.example:8080/apis/registry/v2",
        "value.converter.apicurio.registry.auto-register": "true",
        "value.converter.apicurio.registry.find-latest": "true",
        "value.converter.apicurio.registry.as-confluent": "true",
        "value.converter.apicurio.registry.id-handler": "io.apicurio.registry.serde.Legacy4ByteIdHandler",
        "value.converter.apicurio.registry.converter.deserializer": "io.apicurio.registry.serde.avro.AvroKafkaDeserializer",
        "value.converter.apicurio.auth.service.token.endpoint": "https://login.example/token",
        "value.converter.apicurio.auth.client.id": "floe",
        "value.converter.apicurio.auth.client.secret": "secret-of-floe",
    },
    "debezium": {
        "transforms": "unwrap,route,time,source",
        "transforms.unwrap.type": "io.debezium.transforms.ExtractNewRecordState",
        "transforms.unwrap.drop.tombstones": "true",
        "transforms.unwrap.add.fields": "op,table,source.ts_ms",
        "transforms.route.type": "org.apache.kafka.connect.transforms.RegexRouter",
        "transforms.route.regex": "(.*)[.](.*)",
        "transforms.route.replacement": "$2",
        "transforms.time.type": "org.apache.kafka.connect.transforms.TimestampConverter$Value",
        "transforms.time.field": "at",
        "transforms.time.target.type": "Timestamp",
        "transforms.time.format": "yyyy-MM-dd",
        "transforms.time.predicate": "orders",
        "transforms.source.type": "org.apache.kafka.connect.transforms.InsertField$Value",
        "transforms.source.static.field": "source",
        "transforms.source.static.value": "python:3",
        "predicates": "orders",
        "predicates.orders.type": "org.apache.kafka.connect.transforms.predicates.TopicNameMatches",
        "predicates.orders.pattern": "orders.*",
    },
    "tabular": {
        "connector.class": "io.tabular.iceberg.connect.IcebergSinkConnector",
        "key.converter": _JSON,
        "key.converter.schemas.enable": "false",
        "transforms": "debezium,kafka",
        "transforms.debezium.type": "io.tabular.iceberg.connect.transforms.DebeziumTransform",
        "transforms.debezium.cdc.target.pattern": "{db}.{table}",
        "transforms.kafka.type": "io.tabular.iceberg.connect.transforms.KafkaMetadataTransform",
        "iceberg.catalog.s3.path-style-access": "true",
        "iceberg.catalog.s3.endpoint": "http://minio.example:9000",
        "iceberg.catalog.s3.access-key-id": "minioadmin",
        "iceberg.catalog.s3.secret-access-key": "minioadmin-secret",
        "iceberg.catalog.client.region": "eu-central-1",
        "iceberg.catalog.io-impl": "org.apache.iceberg.aws.s3.S3FileIO",
        "iceberg.hadoop.fs.s3a.endpoint": "http://minio.example:9000",
        "iceberg.hadoop.fs.s3a.path.style.access": "true",
        "iceberg.hadoop.fs.s3a.impl": "org.apache.hadoop.fs.s3a.S3AFileSystem",
        "iceberg.hadoop.fs.s3a.aws.credentials.provider": "org.apache.hadoop.fs.s3a.SimpleAWSCredentialsProvider",
    },
    "msk": {
        "iceberg.catalog.rest.sigv4-enabled": "true",
        "iceberg.catalog.rest.auth.type": "sigv4",
        "iceberg.catalog.rest.signing-name": "glue",
        "iceberg.catalog.rest.signing-region": "us-east-1",
        "iceberg.catalog.client.credentials-provider": "software.amazon.awssdk.auth.credentials.DefaultCredentialsProvider",
        "iceberg.catalog.s3.client-factory-impl": "org.apache.iceberg.aws.s3.DefaultS3FileIOAwsClientFactory",
        "consumer.override.security.protocol": "SASL_SSL",
        "consumer.override.sasl.mechanism": "AWS_MSK_IAM",
        "consumer.override.sasl.jaas.config": "software.amazon.msk.auth.iam.IAMLoginModule required;",
        "consumer.override.sasl.client.callback.handler.class": "software.amazon.msk.auth.iam.IAMClientCallbackHandler",
        "iceberg.kafka.security.protocol": "SASL_SSL",
        "iceberg.kafka.sasl.mechanism": "AWS_MSK_IAM",
        "iceberg.kafka.sasl.jaas.config": "software.amazon.msk.auth.iam.IAMLoginModule required;",
        "iceberg.kafka.sasl.client.callback.handler.class": "software.amazon.msk.auth.iam.IAMClientCallbackHandler",
    },
    "glue": {
        "iceberg.catalog.type": "glue",
        "iceberg.catalog.warehouse": "s3://lake/warehouse",
        "iceberg.catalog.client.region": "us-east-1",
        "iceberg.catalog.io-impl": "org.apache.iceberg.aws.s3.S3FileIO",
        "iceberg.catalog.lock-impl": "org.apache.iceberg.aws.dynamodb.DynamoDbLockManager",
        "iceberg.catalog.lock.table": "locks",
        "iceberg.catalog.http-client.type": "urlconnection",
    },
    "aiven": {
        "consumer.override.security.protocol": "SSL",
        "consumer.override.ssl.truststore.type": "PEM",
        "consumer.override.ssl.truststore.certificates": _PEM,
        "consumer.override.auto.offset.reset": "latest",
        "consumer.override.max.poll.records": "500",
        "producer.override.interceptor.classes": "com.example.Interceptor",
        "kafka.auth.mode": "KAFKA_API_KEY",
        "plugin.name": "pgoutput",
        "errors.tolerance": "all",
        "errors.deadletterqueue.topic.name": "dead-orders",
        "errors.deadletterqueue.topic.replication.factor": "1",
        "errors.deadletterqueue.context.headers.enable": "true",
        "errors.log.enable": "true",
        "errors.retry.timeout": "60000",
    },
    "strimzi": {
        "tasks.max.enforce": "true",
        "config.action.reload": "restart",
        "consumer.override.security.protocol": "SASL_SSL",
        "consumer.override.sasl.mechanism": "OAUTHBEARER",
        "consumer.override.sasl.login.callback.handler.class": (
            "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginCallbackHandler"
        ),
        "consumer.override.sasl.oauthbearer.token.endpoint.url": "https://login.example/token",
        "consumer.override.sasl.jaas.config": (
            "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required "
            'clientId="floe" clientSecret="secret-of-floe";'
        ),
    },
    "strimzi-login": {
        "iceberg.kafka.security.protocol": "SASL_SSL",
        "iceberg.kafka.sasl.mechanism": "OAUTHBEARER",
        "iceberg.kafka.sasl.login.callback.handler.class": (
            "io.strimzi.kafka.oauth.client.JaasClientOauthLoginCallbackHandler"
        ),
        "iceberg.kafka.sasl.jaas.config": (
            "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required "
            'oauth.client.id="floe" oauth.client.secret="secret-of-floe" '
            'oauth.token.endpoint.uri="https://login.example/token";'
        ),
    },
    "nessie": {
        "iceberg.catalog.type": "nessie",
        "iceberg.catalog.uri": "http://catalog.example:19120/api/v2",
        "iceberg.catalog.ref": "main",
        "iceberg.catalog.warehouse": "s3://lake/warehouse",
        "iceberg.catalog.authentication.type": "OAUTH2",
        "iceberg.catalog.authentication.oauth2.token-endpoint": "https://login.example/token",
        "iceberg.catalog.authentication.oauth2.client-id": "floe",
        "iceberg.catalog.authentication.oauth2.client-secret": "secret-of-floe",
    },
    "login": {
        "iceberg.catalog.rest.auth.type": "oauth2",
        "iceberg.catalog.oauth2-server-uri": "https://login.example/token",
        "iceberg.catalog.credential": "floe:secret-of-floe",
        "iceberg.catalog.scope": "PRINCIPAL_ROLE:ALL",
        "iceberg.catalog.auth.session-timeout-ms": "3600000",
        "iceberg.catalog.metrics-reporter-impl": "org.apache.iceberg.metrics.LoggingMetricsReporter",
        "iceberg.catalog.warehouse": "s3://lake/warehouse",
    },
}
"""What each has beside what all have, by whose way of writing it is."""


def connector_of(name: str) -> dict[str, str]:
    """Return the configuration of a connector."""
    return {**_PLAIN, **CONNECTORS[name]}
