import java.nio.file.Files;
import java.nio.file.Path;
import org.apache.iceberg.TableMetadataParser;

/** Opens metadata files as Spark, Trino and Flink do: a line for each, "ok" or what Java says of it. */
public class MetadataCheck {
  public static void main(String[] paths) throws Exception {
    for (String path : paths) {
      try {
        TableMetadataParser.fromJson(path, Files.readString(Path.of(path)));
        System.out.println("ok");
      } catch (RuntimeException error) {
        System.out.println(error);
      }
    }
  }
}
