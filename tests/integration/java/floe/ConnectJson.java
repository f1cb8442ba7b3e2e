package floe;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.math.BigDecimal;
import java.math.RoundingMode;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.TreeSet;
import org.apache.kafka.connect.data.Field;
import org.apache.kafka.connect.data.Schema;
import org.apache.kafka.connect.data.SchemaAndValue;
import org.apache.kafka.connect.data.Struct;

/**
 * Schemas and values of Connect as JSON, as tests/support/job/connect_json.py prints them.
 *
 * Values hold numbers as text, bytes as hex, floats as their bits.
 */
public class ConnectJson {
  private final boolean fillsDefaults;

  /**
   * fillsDefaults: whether a field of a struct is asked for by Struct.get, as the sink does, which fills in its default; else it
   * is as the converter left it.
   */
  public ConnectJson(boolean fillsDefaults) {
    this.fillsDefaults = fillsDefaults;
  }

  /** Returns the options of a request. */
  public static Map<String, Object> options(JsonNode given) {
    Map<String, Object> options = new HashMap<>();
    given.fields().forEachRemaining(e -> options.put(e.getKey(), e.getValue().asText()));
    return options;
  }

  /** Returns {"schema", "value"}, or {"schemaless": true}. */
  public ObjectNode both(SchemaAndValue made) {
    ObjectNode found = Requests.JSON.createObjectNode();
    if (made.schema() == null) {
      return found.put("schemaless", true);
    }
    found.set("schema", schema(made.schema()));
    found.set("value", value(made.schema(), made.value()));
    return found;
  }

  /** Returns {"schema", "value"}, or {"tree"} of what has no schema: see tree. */
  public ObjectNode either(SchemaAndValue made) {
    if (made.schema() != null) {
      return both(made);
    }
    ObjectNode found = Requests.JSON.createObjectNode();
    found.set("tree", tree(made.value()));
    return found;
  }

  /**
   * Returns a value that has no schema: an array for a list, {"map": [[key, value], ...]} in its order for a map, {"schema",
   * "value"} for a struct, null, else a text: the Java class, a blank, and the value as {@link #value} prints it.
   */
  public JsonNode tree(Object value) {
    if (value == null) {
      return Requests.JSON.nullNode();
    }
    if (value instanceof List) {
      ArrayNode found = Requests.JSON.createArrayNode();
      ((List<?>) value).forEach(one -> found.add(tree(one)));
      return found;
    }
    if (value instanceof Map) {
      ObjectNode found = Requests.JSON.createObjectNode();
      ArrayNode entries = found.putArray("map");
      ((Map<?, ?>) value).forEach((key, one) -> entries.addArray().add(tree(key)).add(tree(one)));
      return found;
    }
    if (value instanceof Struct) {
      return both(new SchemaAndValue(((Struct) value).schema(), value));
    }
    String kind = value instanceof ByteBuffer || value instanceof byte[] ? "Bytes" : value.getClass().getSimpleName();
    return Requests.JSON.getNodeFactory().textNode(kind + " " + text(null, value));
  }

  public ObjectNode schema(Schema schema) {
    ObjectNode found = Requests.JSON.createObjectNode();
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

  public JsonNode value(Schema schema, Object value) {
    if (value instanceof List) {
      ArrayNode found = Requests.JSON.createArrayNode();
      ((List<?>) value).forEach(one -> found.add(value(schema.valueSchema(), one)));
      return found;
    }
    if (value instanceof Struct) {
      ObjectNode found = Requests.JSON.createObjectNode();
      Struct struct = (Struct) value;
      struct.schema().fields().forEach(f -> found.set(f.name(), value(f.schema(), of(struct, f))));
      return found;
    }
    if (value instanceof Map) {
      TreeSet<String> entries = new TreeSet<>();
      for (Map.Entry<?, ?> entry : ((Map<?, ?>) value).entrySet()) {
        JsonNode key = value(schema.keySchema(), entry.getKey());
        entries.add(key + ":" + value(schema.valueSchema(), entry.getValue()));
      }
      return Requests.JSON.valueToTree(entries);
    }
    return Requests.JSON.getNodeFactory().textNode(text(schema, value));
  }

  private Object of(Struct struct, Field field) {
    return fillsDefaults ? struct.get(field) : struct.getWithoutDefault(field.name());
  }

  private static String text(Schema schema, Object value) {
    if (value instanceof java.util.Date) {
      return "ms " + ((java.util.Date) value).getTime();
    }
    if (value instanceof BigDecimal && schema == null) {
      return value.toString();
    }
    if (value instanceof BigDecimal) {
      int scale = Integer.parseInt(schema.parameters().get("scale"));
      BigDecimal decimal = (BigDecimal) value;
      return decimal.stripTrailingZeros().scale() <= scale
          ? decimal.setScale(scale, RoundingMode.UNNECESSARY).toString()
          : decimal.toString();
    }
    if (value instanceof ByteBuffer) {
      ByteBuffer buffer = ((ByteBuffer) value).duplicate();
      byte[] bytes = new byte[buffer.remaining()];
      buffer.get(bytes);
      return HexFormat.of().formatHex(bytes);
    }
    if (value instanceof byte[]) {
      return HexFormat.of().formatHex((byte[]) value);
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
