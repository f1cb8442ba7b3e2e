import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.apicurio.registry.utils.converter.avro.AvroData;
import io.apicurio.registry.utils.converter.avro.AvroDataConfig;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.TreeSet;
import org.apache.avro.generic.GenericDatumReader;
import org.apache.avro.io.BinaryDecoder;
import org.apache.avro.io.DecoderFactory;
import org.apache.kafka.connect.data.Field;
import org.apache.kafka.connect.data.Schema;
import org.apache.kafka.connect.data.SchemaAndValue;
import org.apache.kafka.connect.data.Struct;

/**
 * The Java side of test_avro.py: a request a line in, an answer a line out.
 *
 * <pre>
 *   {"schema": text, "options": {...}, "datums": [hex, ...]}
 *     -> {"schema": the Connect schema, "values": [{"value"} or {"error"} for each datum]}, or {"error"}
 * </pre>
 *
 * Values hold numbers as text, bytes as hex, floats as their bits, so that both sides can print them alike. A field of a
 * struct is asked for as the sink does, by Struct.get.
 */
public class AvroCheck {
  private static final ObjectMapper JSON = new ObjectMapper();

  public static void main(String[] args) throws IOException {
    BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    PrintStream out = new PrintStream(System.out, true, StandardCharsets.UTF_8);
    for (String line = in.readLine(); line != null; line = in.readLine()) {
      out.println(answer(JSON.readTree(line)));
    }
  }

  private static ObjectNode answer(JsonNode request) {
    ObjectNode found = JSON.createObjectNode();
    try {
      Map<String, Object> options = new HashMap<>();
      request.path("options").fields().forEachRemaining(e -> options.put(e.getKey(), e.getValue().asText()));
      AvroData data = new AvroData(new AvroDataConfig(options));
      org.apache.avro.Schema.Parser parser = new org.apache.avro.Schema.Parser();
      org.apache.avro.Schema schema = parser.setValidateDefaults(false).parse(request.get("schema").asText());
      found.set("schema", schema(data.toConnectSchema(schema)));
      ArrayNode values = found.putArray("values");
      for (JsonNode datum : request.path("datums")) {
        values.add(read(data, schema, HexFormat.of().parseHex(datum.asText())));
      }
    } catch (Exception | StackOverflowError e) {
      found.put("error", String.valueOf(e));
    }
    return found;
  }

  private static ObjectNode read(AvroData data, org.apache.avro.Schema schema, byte[] datum) {
    ObjectNode found = JSON.createObjectNode();
    try {
      BinaryDecoder decoder = DecoderFactory.get().binaryDecoder(datum, null);
      Object read = new GenericDatumReader<Object>(schema).read(null, decoder);
      if (!decoder.isEnd()) {
        throw new IOException("bytes are left");
      }
      SchemaAndValue made = data.toConnectData(schema, read, null);
      found.set("value", value(made.schema(), made.value()));
    } catch (Exception e) {
      found.put("error", String.valueOf(e));
    }
    return found;
  }

  private static ObjectNode schema(Schema schema) {
    ObjectNode found = JSON.createObjectNode();
    found.put("type", schema.type().getName());
    found.put("optional", schema.isOptional());
    found.put("name", schema.name());
    found.put("version", schema.version());
    ObjectNode parameters = found.putObject("parameters");
    Map<String, String> given = schema.parameters() == null ? Map.of() : schema.parameters();
    new TreeMap<>(given).forEach(parameters::put);
    if (schema.defaultValue() != null) {
      found.set("default", value(schema, schema.defaultValue()));
    }
    if (schema.type() == Schema.Type.STRUCT) {
      ArrayNode fields = found.putArray("fields");
      for (Field field : schema.fields()) {
        fields.addArray().add(field.name()).add(schema(field.schema()));
      }
    }
    if (schema.type() == Schema.Type.MAP) {
      found.set("key", schema(schema.keySchema()));
    }
    if (schema.type() == Schema.Type.MAP || schema.type() == Schema.Type.ARRAY) {
      found.set("element", schema(schema.valueSchema()));
    }
    return found;
  }

  private static JsonNode value(Schema schema, Object value) {
    if (value instanceof List) {
      ArrayNode found = JSON.createArrayNode();
      ((List<?>) value).forEach(one -> found.add(value(schema.valueSchema(), one)));
      return found;
    }
    if (value instanceof Struct) {
      ObjectNode found = JSON.createObjectNode();
      Struct struct = (Struct) value;
      struct.schema().fields().forEach(f -> found.set(f.name(), value(f.schema(), struct.get(f))));
      return found;
    }
    if (value instanceof Map) {
      TreeSet<String> entries = new TreeSet<>();
      for (Map.Entry<?, ?> entry : ((Map<?, ?>) value).entrySet()) {
        JsonNode key = value(schema.keySchema(), entry.getKey());
        entries.add(key + ":" + value(schema.valueSchema(), entry.getValue()));
      }
      return JSON.valueToTree(entries);
    }
    return JSON.getNodeFactory().textNode(text(value));
  }

  private static String text(Object value) {
    if (value instanceof java.util.Date) {
      return "ms " + ((java.util.Date) value).getTime();
    }
    if (value instanceof ByteBuffer) {
      ByteBuffer buffer = ((ByteBuffer) value).duplicate();
      byte[] bytes = new byte[buffer.remaining()];
      buffer.get(bytes);
      return HexFormat.of().formatHex(bytes);
    }
    if (value instanceof Float) {
      return String.format("%08x", Float.floatToRawIntBits((Float) value));
    }
    if (value instanceof Double) {
      return String.format("%016x", Double.doubleToRawLongBits((Double) value));
    }
    if (value instanceof String) {
      return HexFormat.of().formatHex(((String) value).getBytes(StandardCharsets.UTF_8));
    }
    return String.valueOf(value);
  }
}
