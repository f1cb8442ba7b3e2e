import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.google.protobuf.ByteString;
import com.google.protobuf.DescriptorProtos.FileDescriptorProto;
import com.google.protobuf.Descriptors.Descriptor;
import com.google.protobuf.Descriptors.EnumValueDescriptor;
import com.google.protobuf.Descriptors.FieldDescriptor;
import com.google.protobuf.Descriptors.FileDescriptor;
import com.google.protobuf.DynamicMessage;
import com.google.protobuf.Message;
import floe.Requests;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.Base64;
import java.util.HexFormat;
import java.util.List;
import java.util.TreeMap;

/**
 * The Java side of test_protobuf.py: a request a line in, an answer a line out.
 *
 * <pre>
 *   {"file": a FileDescriptorProto in base64, "messages": [hex, ...]}
 *     -> [{"value"} or {"error"} for each message of the type R]
 * </pre>
 *
 * Messages are read into DynamicMessage, as Kafka Connect's converters read them. A field that may be absent and is so is
 * null, as are fields of a oneof that are not the one. Values hold numbers as text, bytes as hex, floats as their bits.
 */
public class ProtobufCheck {
  private static final ObjectMapper JSON = Requests.JSON;

  public static void main(String[] args) throws Exception {
    Requests.serve(
        request -> {
          byte[] file = Base64.getDecoder().decode(request.get("file").asText());
          FileDescriptorProto proto = FileDescriptorProto.parseFrom(file);
          Descriptor type = FileDescriptor.buildFrom(proto, new FileDescriptor[0]).findMessageTypeByName("R");
          ArrayNode found = JSON.createArrayNode();
          request.get("messages").forEach(one -> found.add(read(type, HexFormat.of().parseHex(one.asText()))));
          return found;
        });
  }

  private static ObjectNode read(Descriptor type, byte[] bytes) {
    ObjectNode found = JSON.createObjectNode();
    try {
      found.set("value", struct(DynamicMessage.parseFrom(type, bytes)));
    } catch (IOException | RuntimeException e) {
      found.put("error", String.valueOf(e));
    }
    return found;
  }

  private static JsonNode struct(Message message) {
    ObjectNode found = JSON.createObjectNode();
    for (FieldDescriptor field : message.getDescriptorForType().getFields()) {
      boolean isAbsent = field.hasPresence() && !field.isRequired() && !message.hasField(field);
      found.set(field.getName(), isAbsent ? text("null") : value(field, message.getField(field)));
    }
    return found;
  }

  private static JsonNode value(FieldDescriptor field, Object value) {
    if (field.isMapField()) {
      TreeMap<String, JsonNode> entries = new TreeMap<>();
      for (Object one : (List<?>) value) {
        Message entry = (Message) one;
        FieldDescriptor key = entry.getDescriptorForType().findFieldByNumber(1);
        FieldDescriptor content = entry.getDescriptorForType().findFieldByNumber(2);
        entries.put(single(key, entry.getField(key)).asText(), single(content, entry.getField(content)));
      }
      return JSON.valueToTree(entries);
    }
    if (field.isRepeated()) {
      ArrayNode found = JSON.createArrayNode();
      ((List<?>) value).forEach(one -> found.add(single(field, one)));
      return found;
    }
    return single(field, value);
  }

  private static JsonNode single(FieldDescriptor field, Object value) {
    if (value instanceof Message) {
      return struct((Message) value);
    }
    if (value instanceof EnumValueDescriptor) {
      return text(hex(((EnumValueDescriptor) value).toString().getBytes(StandardCharsets.UTF_8)));
    }
    if (value instanceof ByteString) {
      return text(hex(((ByteString) value).toByteArray()));
    }
    if (value instanceof String) {
      return text(hex(((String) value).getBytes(StandardCharsets.UTF_8)));
    }
    if ((value instanceof Float || value instanceof Double) && Double.isNaN(((Number) value).doubleValue())) {
      return text("nan");
    }
    if (value instanceof Float) {
      return text(String.format("%08x", Float.floatToRawIntBits((Float) value)));
    }
    if (value instanceof Double) {
      return text(String.format("%016x", Double.doubleToRawLongBits((Double) value)));
    }
    if (field.getType() == FieldDescriptor.Type.UINT32 || field.getType() == FieldDescriptor.Type.FIXED32) {
      return text(Long.toString(Integer.toUnsignedLong((Integer) value)));
    }
    if (field.getType() == FieldDescriptor.Type.UINT64 || field.getType() == FieldDescriptor.Type.FIXED64) {
      return text(Long.toUnsignedString((Long) value));
    }
    return text(String.valueOf(value));
  }

  private static String hex(byte[] bytes) {
    return HexFormat.of().formatHex(bytes);
  }

  private static JsonNode text(String value) {
    return JSON.getNodeFactory().textNode(value);
  }
}
