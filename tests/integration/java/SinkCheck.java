package org.apache.iceberg.connect.data;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import floe.ConnectJson;
import floe.IcebergJson;
import floe.Requests;
import io.apicurio.registry.rest.client.RegistryClient;
import io.apicurio.registry.serde.avro.AvroKafkaDeserializer;
import io.apicurio.registry.serde.avro.AvroKafkaSerializer;
import io.apicurio.registry.utils.converter.AvroConverter;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.lang.reflect.Proxy;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.PartitionSpec;
import org.apache.iceberg.Schema;
import org.apache.iceberg.SchemaParser;
import org.apache.iceberg.Table;
import org.apache.iceberg.catalog.Namespace;
import org.apache.iceberg.catalog.TableIdentifier;
import org.apache.iceberg.connect.IcebergSinkConfig;
import org.apache.iceberg.connect.events.TableReference;
import org.apache.iceberg.data.Record;
import org.apache.iceberg.data.parquet.GenericParquetReaders;
import org.apache.iceberg.inmemory.InMemoryCatalog;
import org.apache.iceberg.io.CloseableIterable;
import org.apache.iceberg.io.TaskWriter;
import org.apache.iceberg.parquet.Parquet;
import org.apache.kafka.common.header.internals.RecordHeaders;
import org.apache.kafka.connect.data.SchemaAndValue;
import org.apache.kafka.connect.json.JsonConverter;
import org.apache.kafka.connect.sink.SinkRecord;
import org.apache.kafka.connect.storage.Converter;

/**
 * The Java side of the tests of rows: a request a line in, an answer a line out.
 *
 * <pre>
 *   {"converter": "json" or "avro", "options": {}, "schemas": [text], "keys": {}, "records": [hex],
 *    "table": schema, "properties": {}}
 *     -> {"created": schema, "schema": schema, "rows": [{"row"} or {"error"}, with "stage", for each record]}
 * </pre>
 *
 * The keys are the sink's; the index of an Avro schema is its id in Apicurio's registry. Without a table the sink makes one,
 * of the first record. A record passes the steps of the sink's IcebergWriter: its RecordConverter, the updates of the
 * schema, its Parquet file. Rows are what a reader of Iceberg finds in the files.
 */
public class SinkCheck {
  private static final InMemoryCatalog CATALOG = new InMemoryCatalog();
  private static int tables = 0;

  private final IcebergSinkConfig config;
  private final Converter converter;
  private final ObjectNode answer = Requests.JSON.createObjectNode();
  private final List<ObjectNode> rows = new ArrayList<>();
  private final List<Record> open = new ArrayList<>();
  private final List<ObjectNode> openRows = new ArrayList<>();
  private final List<DataFile> files = new ArrayList<>();
  private final List<List<ObjectNode>> rowsOfFiles = new ArrayList<>();
  private Table table;
  private RecordConverter records;

  public static void main(String[] args) throws Exception {
    CATALOG.initialize("check", Map.of());
    CATALOG.createNamespace(Namespace.of("db"));
    Requests.serve(request -> new SinkCheck(request).answer(request));
  }

  private SinkCheck(JsonNode request) {
    Map<String, String> keys = new HashMap<>();
    ConnectJson.options(request.path("keys")).forEach((name, value) -> keys.put(name, (String) value));
    keys.putIfAbsent("topics", "topic");
    keys.putIfAbsent("iceberg.tables", "db.t");
    keys.putIfAbsent("iceberg.catalog.type", "rest");
    config = new IcebergSinkConfig(keys);
    converter = request.get("converter").asText().equals("avro") ? avro(request) : json(request);
  }

  private static Converter json(JsonNode request) {
    JsonConverter converter = new JsonConverter();
    converter.configure(ConnectJson.options(request.path("options")), false);
    return converter;
  }

  private static Converter avro(JsonNode request) {
    RegistryClient registry = (RegistryClient) Proxy.newProxyInstance(
        RegistryClient.class.getClassLoader(),
        new Class<?>[] {RegistryClient.class},
        (client, method, given) -> {
          if (method.getName().startsWith("getArtifactReferences")) {
            return List.of();
          }
          if (method.getName().equals("getContentByGlobalId")) {
            String text = request.get("schemas").get(((Long) given[0]).intValue()).asText();
            return new ByteArrayInputStream(text.getBytes(StandardCharsets.UTF_8));
          }
          throw new UnsupportedOperationException(method.toString());
        });
    AvroConverter<Object> converter = new AvroConverter<>();
    converter.setDeserializer(new AvroKafkaDeserializer<>(registry));
    converter.setSerializer(new AvroKafkaSerializer<>(registry));
    converter.configure(ConnectJson.options(request.path("options")), false);
    return converter;
  }

  private ObjectNode answer(JsonNode request) throws IOException {
    TableIdentifier name = TableIdentifier.of("db", "t" + tables++);
    if (request.hasNonNull("table")) {
      Schema schema = SchemaParser.fromJson(request.get("table"));
      Map<String, String> properties = new HashMap<>();
      ConnectJson.options(request.path("properties")).forEach((key, value) -> properties.put(key, (String) value));
      table = CATALOG.createTable(name, schema, PartitionSpec.unpartitioned(), properties);
      records = new RecordConverter(table, config);
    }
    for (JsonNode record : request.get("records")) {
      ObjectNode row = Requests.JSON.createObjectNode();
      rows.add(row);
      take(name, HexFormat.of().parseHex(record.asText()), row);
    }
    flush();
    if (table != null) {
      answer.set("schema", Requests.JSON.readTree(SchemaParser.toJson(table.schema())));
      readFiles();
      CATALOG.dropTable(name, false);
    }
    ArrayNode all = answer.putArray("rows");
    rows.forEach(all::add);
    return answer;
  }

  private void take(TableIdentifier name, byte[] record, ObjectNode row) throws IOException {
    String stage = "converter";
    try {
      SchemaAndValue made = converter.toConnectData("topic", new RecordHeaders(), record);
      SinkRecord sunk = new SinkRecord("topic", 0, null, null, made.schema(), made.value(), rows.size());
      stage = "table";
      if (table == null) {
        table = new IcebergWriterFactory(CATALOG, config).autoCreateTable(name.toString(), sunk);
        answer.set("created", Requests.JSON.readTree(SchemaParser.toJson(table.schema())));
        records = new RecordConverter(table, config);
      }
      stage = "row";
      open.add(row(sunk.value()));
      openRows.add(row);
    } catch (Exception | StackOverflowError e) {
      row.put("stage", stage).put("error", said(e));
    }
  }

  /** As IcebergWriter.convertToRow. */
  private Record row(Object value) {
    if (!config.evolveSchemaEnabled()) {
      return records.convert(value);
    }
    SchemaUpdate.Consumer updates = new SchemaUpdate.Consumer();
    Record row = records.convert(value, updates);
    if (updates.empty()) {
      return row;
    }
    flush();
    SchemaUtils.applySchemaUpdates(table, updates);
    records = new RecordConverter(table, config);
    return records.convert(value);
  }

  private void flush() {
    if (!open.isEmpty() && failure(open, openRows) != null) {
      for (int i = 0; i < open.size(); i++) {
        Exception found = failure(open.subList(i, i + 1), openRows.subList(i, i + 1));
        if (found != null) {
          openRows.get(i).put("stage", "file").put("error", said(found));
        }
      }
    }
    open.clear();
    openRows.clear();
  }

  /** Writes a file; returns why it cannot be written. */
  private Exception failure(List<Record> some, List<ObjectNode> itsRows) {
    try {
      TaskWriter<Record> writer =
          RecordUtils.createTableWriter(table, TableReference.of("check", TableIdentifier.of("db", "t"), UUID.randomUUID()), config);
      for (Record one : some) {
        writer.write(one);
      }
      for (DataFile file : writer.complete().dataFiles()) {
        files.add(file);
      }
      rowsOfFiles.add(List.copyOf(itsRows));
      return null;
    } catch (IOException | RuntimeException e) {
      return e;
    }
  }

  private void readFiles() throws IOException {
    Schema schema = table.schema();
    for (int i = 0; i < files.size(); i++) {
      try (CloseableIterable<Record> read =
          Parquet.read(table.io().newInputFile(files.get(i).location()))
              .project(schema)
              .createReaderFunc(type -> GenericParquetReaders.buildReader(schema, type))
              .build()) {
        int at = 0;
        for (Record one : read) {
          rowsOfFiles.get(i).get(at++).set("row", IcebergJson.value(schema.asStruct(), one));
        }
      }
    }
  }

  private static String said(Throwable e) {
    return e.getCause() == null ? String.valueOf(e) : e + ": " + e.getCause();
  }
}
