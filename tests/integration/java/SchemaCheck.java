import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.TreeMap;
import org.everit.json.schema.ArraySchema;
import org.everit.json.schema.BooleanSchema;
import org.everit.json.schema.CombinedSchema;
import org.everit.json.schema.ConstSchema;
import org.everit.json.schema.EnumSchema;
import org.everit.json.schema.NullSchema;
import org.everit.json.schema.NumberSchema;
import org.everit.json.schema.ObjectSchema;
import org.everit.json.schema.ReferenceSchema;
import org.everit.json.schema.Schema;
import org.everit.json.schema.StringSchema;
import org.everit.json.schema.loader.SchemaLoader;
import org.json.JSONArray;
import org.json.JSONObject;

/**
 * The Java side of test_json_schema.py: a schema a line in, what everit's library sees in it a line out, or {"error"}.
 *
 * <pre>
 *   {"kind", "title", "connect": {...}, "parts": [...], "properties": {...}, "required": [...], "items", "additional"}
 * </pre>
 */
public class SchemaCheck {
  public static void main(String[] args) throws IOException {
    BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    PrintStream out = new PrintStream(System.out, true, StandardCharsets.UTF_8);
    for (String line = in.readLine(); line != null; line = in.readLine()) {
      JSONObject answer;
      try {
        JSONObject json = new JSONObject(line);
        answer = seen(SchemaLoader.builder().schemaJson(json).draftV7Support().build().load().build());
      } catch (RuntimeException e) {
        answer = new JSONObject().put("error", String.valueOf(e));
      }
      out.println(answer);
    }
  }

  private static JSONObject seen(Schema schema) {
    JSONObject found = new JSONObject().put("kind", kind(schema));
    found.putOpt("title", schema.getTitle());
    TreeMap<String, Object> connect = new TreeMap<>(schema.getUnprocessedProperties());
    connect.keySet().removeIf(name -> !name.startsWith("connect."));
    if (!connect.isEmpty()) {
      found.put("connect", new JSONObject(connect));
    }
    if (schema instanceof CombinedSchema) {
      JSONArray parts = new JSONArray();
      ((CombinedSchema) schema).getSubschemas().forEach(part -> parts.put(seen(part)));
      found.put("parts", parts);
    } else if (schema instanceof ReferenceSchema) {
      found.put("referred", seen(((ReferenceSchema) schema).getReferredSchema()));
    } else if (schema instanceof ArraySchema && ((ArraySchema) schema).getAllItemSchema() != null) {
      found.put("items", seen(((ArraySchema) schema).getAllItemSchema()));
    } else if (schema instanceof ObjectSchema) {
      ObjectSchema object = (ObjectSchema) schema;
      JSONObject properties = new JSONObject();
      object.getPropertySchemas().forEach((name, inner) -> properties.put(name, seen(inner)));
      found.put("properties", properties).put("required", new JSONArray(object.getRequiredProperties()));
      if (object.getSchemaOfAdditionalProperties() != null) {
        found.put("additional", seen(object.getSchemaOfAdditionalProperties()));
      }
    }
    return found;
  }

  private static String kind(Schema schema) {
    if (schema instanceof CombinedSchema) {
      return ((CombinedSchema) schema).getCriterion().toString();
    } else if (schema instanceof NumberSchema) {
      return ((NumberSchema) schema).requiresInteger() ? "integer" : "number";
    } else if (schema instanceof ReferenceSchema) {
      return "$ref";
    }
    boolean isKnown =
        schema instanceof ArraySchema
            || schema instanceof BooleanSchema
            || schema instanceof ConstSchema
            || schema instanceof EnumSchema
            || schema instanceof NullSchema
            || schema instanceof ObjectSchema
            || schema instanceof StringSchema;
    return isKnown ? schema.getClass().getSimpleName().replace("Schema", "").toLowerCase() : "other";
  }
}
