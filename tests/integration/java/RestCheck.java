import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import floe.Requests;
import java.util.HashMap;
import java.util.Map;
import org.apache.iceberg.Table;
import org.apache.iceberg.catalog.TableIdentifier;
import org.apache.iceberg.rest.RESTCatalog;

/** Java's REST catalog with the properties of a connector: loads a table, sets a property, returns what it has then. */
public class RestCheck {
  public static void main(String[] arguments) throws Exception {
    Requests.serve(RestCheck::answer);
  }

  private static JsonNode answer(JsonNode request) throws Exception {
    Map<String, String> properties = new HashMap<>();
    request.get("properties").fields().forEachRemaining(one -> properties.put(one.getKey(), one.getValue().asText()));
    ObjectNode answer = Requests.JSON.createObjectNode();
    try (RESTCatalog catalog = new RESTCatalog()) {
      catalog.initialize("java", properties);
      Table table = catalog.loadTable(TableIdentifier.parse(request.get("table").asText()));
      table.updateProperties().set("set.by", "java").commit();
      answer.put("location", table.location());
      answer.putPOJO("properties", table.properties());
      answer.putPOJO("summary", table.currentSnapshot().summary());
    }
    return answer;
  }
}
