import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import floe.Requests;
import java.util.HashMap;
import java.util.Map;
import java.util.UUID;
import org.apache.hadoop.conf.Configuration;
import org.apache.iceberg.CatalogUtil;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.DataFiles;
import org.apache.iceberg.FileFormat;
import org.apache.iceberg.Table;
import org.apache.iceberg.catalog.Catalog;
import org.apache.iceberg.catalog.Namespace;
import org.apache.iceberg.catalog.SupportsNamespaces;
import org.apache.iceberg.catalog.TableIdentifier;
import org.apache.iceberg.data.GenericRecord;
import org.apache.iceberg.data.IcebergGenerics;
import org.apache.iceberg.data.Record;
import org.apache.iceberg.data.parquet.GenericParquetWriter;
import org.apache.iceberg.io.CloseableIterable;
import org.apache.iceberg.io.FileAppender;
import org.apache.iceberg.io.OutputFile;
import org.apache.iceberg.parquet.Parquet;

/**
 * Java's side of a shared catalog: a request a line in, an answer a line out.
 *
 * <pre>
 *   {"impl", "name", "properties"}                      -> opens a catalog
 *   {"do": "create", "table", "like"}                   -> creates a table with the schema of another one
 *   {"do": "append", "table", "partition", "from", "to", "each"} -> appends rows, "each" in a commit of their own
 *   {"do": "set", "table", "key", "value"}              -> sets a property
 *   {"do": "rows", "table"}                             -> [[partition, offset], ...]
 *   {"do": "values", "table"}                           -> [{column: value as text, ...}, ...]
 *   {"do": "list", "namespace"}                         -> {"tables": [...], "namespaces": [...]}
 *   {"do": "drop", "table"}
 * </pre>
 */
public class CatalogCheck {
  private static Catalog catalog;

  public static void main(String[] args) throws Exception {
    Requests.serve(CatalogCheck::answer);
  }

  private static JsonNode answer(JsonNode request) {
    ObjectNode done = Requests.JSON.createObjectNode();
    try {
      return request.has("impl") ? open(request, done) : act(request, done);
    } catch (Exception e) {
      return done.put("error", String.valueOf(e));
    }
  }

  private static JsonNode open(JsonNode request, ObjectNode done) {
    Map<String, String> properties = new HashMap<>();
    request.get("properties").properties().forEach(one -> properties.put(one.getKey(), one.getValue().asText()));
    catalog = CatalogUtil.loadCatalog(
        request.get("impl").asText(), request.get("name").asText(), properties, new Configuration());
    return done;
  }

  private static JsonNode act(JsonNode request, ObjectNode done) throws Exception {
    switch (request.get("do").asText()) {
      case "create":
        catalog.createTable(id(request, "table"), catalog.loadTable(id(request, "like")).schema());
        return done;
      case "append":
        append(request);
        return done;
      case "set":
        Table table = catalog.loadTable(id(request, "table"));
        table.updateProperties().set(request.get("key").asText(), request.get("value").asText()).commit();
        return done;
      case "rows":
        return rows(catalog.loadTable(id(request, "table")));
      case "values":
        return values(catalog.loadTable(id(request, "table")));
      case "list":
        return list(Namespace.of(request.get("namespace").asText().split("\\.")), done);
      case "drop":
        return done.put("dropped", catalog.dropTable(id(request, "table"), false));
      default:
        return done.put("error", "unknown request");
    }
  }

  private static TableIdentifier id(JsonNode request, String key) {
    return TableIdentifier.parse(request.get(key).asText());
  }

  private static void append(JsonNode request) throws Exception {
    Table table = catalog.loadTable(id(request, "table"));
    int each = request.get("each").asInt();
    for (int offset = request.get("from").asInt(); offset < request.get("to").asInt(); offset += each) {
      table.newFastAppend().appendFile(file(table, request.get("partition").asInt(), offset, offset + each)).commit();
    }
  }

  private static DataFile file(Table table, int partition, int from, int to) throws Exception {
    OutputFile out = table.io().newOutputFile(table.location() + "/data/" + UUID.randomUUID() + ".parquet");
    FileAppender<Record> appender =
        Parquet.write(out).schema(table.schema()).createWriterFunc(GenericParquetWriter::create).build();
    try (appender) {
      for (long offset = from; offset < to; offset++) {
        GenericRecord record = GenericRecord.create(table.schema());
        record.setField("kafka_partition", partition);
        record.setField("kafka_offset", offset);
        appender.add(record);
      }
    }
    return DataFiles.builder(table.spec())
        .withPath(out.location())
        .withFormat(FileFormat.PARQUET)
        .withFileSizeInBytes(appender.length())
        .withMetrics(appender.metrics())
        .build();
  }

  private static JsonNode rows(Table table) throws Exception {
    ArrayNode found = Requests.JSON.createArrayNode();
    try (CloseableIterable<Record> records = IcebergGenerics.read(table).build()) {
      for (Record record : records) {
        ArrayNode row = found.addArray();
        row.add(((Integer) record.getField("kafka_partition")).intValue());
        row.add(((Long) record.getField("kafka_offset")).longValue());
      }
    }
    return found;
  }

  private static JsonNode values(Table table) throws Exception {
    ArrayNode found = Requests.JSON.createArrayNode();
    try (CloseableIterable<Record> records = IcebergGenerics.read(table).build()) {
      for (Record record : records) {
        ObjectNode row = found.addObject();
        table.schema().columns().forEach(one -> row.put(one.name(), text(record.getField(one.name()))));
      }
    }
    return found;
  }

  private static String text(Object value) {
    return value == null ? null : value.toString();
  }

  private static JsonNode list(Namespace namespace, ObjectNode done) {
    ArrayNode tables = done.putArray("tables");
    catalog.listTables(namespace).forEach(one -> tables.add(one.toString()));
    ArrayNode namespaces = done.putArray("namespaces");
    ((SupportsNamespaces) catalog).listNamespaces().forEach(one -> namespaces.add(one.toString()));
    return done;
  }
}
