import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hive.metastore.HiveMetaStore;
import org.apache.hadoop.hive.metastore.conf.MetastoreConf;
import org.apache.hadoop.hive.metastore.txn.TxnDbUtil;

/** A Hive metastore whose database also has the tables of locks, which are not made by themselves. */
public class Metastore {
  public static void main(String[] args) throws Throwable {
    Configuration conf = MetastoreConf.newMetastoreConf();
    try {
      TxnDbUtil.prepDb(conf);
    } catch (java.sql.SQLException e) {
      if (!e.getMessage().contains("already exists")) {
        throw e;
      }
    }
    HiveMetaStore.main(args);
  }
}
