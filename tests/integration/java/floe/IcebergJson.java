package floe;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.math.BigDecimal;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.LocalTime;
import java.time.OffsetDateTime;
import java.time.ZoneOffset;
import java.time.temporal.ChronoUnit;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;
import org.apache.iceberg.StructLike;
import org.apache.iceberg.types.Type;
import org.apache.iceberg.types.Types;

/**
 * Values of Iceberg's columns as JSON, as tests/support/java/rows.py prints them.
 *
 * Numbers are text, floats their bits, bytes and texts hex, dates days, times and timestamps microseconds, entries of maps sorted.
 */
public class IcebergJson {
  private static final LocalDateTime EPOCH = LocalDateTime.ofEpochSecond(0, 0, ZoneOffset.UTC);

  private IcebergJson() {}

  public static JsonNode value(Type type, Object value) {
    if (value == null) {
      return Requests.JSON.nullNode();
    }
    if (type.isStructType()) {
      ObjectNode found = Requests.JSON.createObjectNode();
      List<Types.NestedField> fields = type.asStructType().fields();
      for (int i = 0; i < fields.size(); i++) {
        found.set(fields.get(i).name(), value(fields.get(i).type(), ((StructLike) value).get(i, Object.class)));
      }
      return found;
    }
    if (type.isListType()) {
      ArrayNode found = Requests.JSON.createArrayNode();
      ((List<?>) value).forEach(one -> found.add(value(type.asListType().elementType(), one)));
      return found;
    }
    if (type.isMapType()) {
      TreeSet<String> entries = new TreeSet<>();
      Types.MapType map = type.asMapType();
      ((Map<?, ?>) value).forEach((key, one) -> entries.add(value(map.keyType(), key) + ":" + value(map.valueType(), one)));
      return Requests.JSON.valueToTree(entries);
    }
    return Requests.JSON.getNodeFactory().textNode(text(value));
  }

  private static String text(Object value) {
    if (value instanceof String) {
      return hex(((String) value).getBytes(StandardCharsets.UTF_8));
    }
    if (value instanceof ByteBuffer) {
      ByteBuffer buffer = ((ByteBuffer) value).duplicate();
      byte[] bytes = new byte[buffer.remaining()];
      buffer.get(bytes);
      return hex(bytes);
    }
    if (value instanceof byte[]) {
      return hex((byte[]) value);
    }
    if (value instanceof Float) {
      return Integer.toHexString(Float.floatToIntBits((Float) value));
    }
    if (value instanceof Double) {
      return Long.toHexString(Double.doubleToLongBits((Double) value));
    }
    if (value instanceof BigDecimal) {
      return ((BigDecimal) value).toPlainString();
    }
    if (value instanceof LocalDate) {
      return String.valueOf(((LocalDate) value).toEpochDay());
    }
    if (value instanceof LocalTime) {
      return String.valueOf(((LocalTime) value).toNanoOfDay() / 1000);
    }
    if (value instanceof OffsetDateTime) {
      LocalDateTime moment = ((OffsetDateTime) value).withOffsetSameInstant(ZoneOffset.UTC).toLocalDateTime();
      return String.valueOf(ChronoUnit.MICROS.between(EPOCH, moment));
    }
    if (value instanceof LocalDateTime) {
      return String.valueOf(ChronoUnit.MICROS.between(EPOCH, (LocalDateTime) value));
    }
    return String.valueOf(value);
  }

  private static String hex(byte[] bytes) {
    return HexFormat.of().formatHex(bytes);
  }
}
