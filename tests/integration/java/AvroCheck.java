import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import floe.ConnectJson;
import floe.Requests;
import io.apicurio.registry.utils.converter.avro.AvroData;
import io.apicurio.registry.utils.converter.avro.AvroDataConfig;
import java.io.IOException;
import java.util.HexFormat;
import org.apache.avro.generic.GenericDatumReader;
import org.apache.avro.io.BinaryDecoder;
import org.apache.avro.io.DecoderFactory;
import org.apache.kafka.connect.data.SchemaAndValue;

/**
 * The Java side of test_avro.py: a request a line in, an answer a line out.
 *
 * <pre>
 *   {"schema": text, "options": {...}, "datums": [hex, ...]}
 *     -> {"schema": the Connect schema, "values": [{"value"} or {"error"} for each datum]}, or {"error"}
 * </pre>
 *
 * A field of a struct is asked for as the sink does, by Struct.get.
 */
public class AvroCheck {
  private static final ConnectJson CONNECT = new ConnectJson(true);

  public static void main(String[] args) throws Exception {
    Requests.serve(AvroCheck::answer);
  }

  private static ObjectNode answer(JsonNode request) {
    ObjectNode found = Requests.JSON.createObjectNode();
    try {
      AvroData data = new AvroData(new AvroDataConfig(ConnectJson.options(request.path("options"))));
      org.apache.avro.Schema.Parser parser = new org.apache.avro.Schema.Parser();
      org.apache.avro.Schema schema = parser.setValidateDefaults(false).parse(request.get("schema").asText());
      found.set("schema", CONNECT.schema(data.toConnectSchema(schema)));
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
    ObjectNode found = Requests.JSON.createObjectNode();
    try {
      BinaryDecoder decoder = DecoderFactory.get().binaryDecoder(datum, null);
      Object read = new GenericDatumReader<Object>(schema).read(null, decoder);
      if (!decoder.isEnd()) {
        throw new IOException("bytes are left");
      }
      SchemaAndValue made = data.toConnectData(schema, read, null);
      found.set("value", CONNECT.value(made.schema(), made.value()));
    } catch (Exception e) {
      found.put("error", String.valueOf(e));
    }
    return found;
  }
}
