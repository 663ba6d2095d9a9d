import de.bwaldvogel.mongo.MongoServer;
import de.bwaldvogel.mongo.MongoVersion;
import de.bwaldvogel.mongo.backend.memory.MemoryBackend;

/** A MongoDB-compatible server in memory on the port given, an ephemeral one for 0. Ends when standard input does. */
public class TestMongo {
    public static void main(String[] arguments) throws Exception {
        MongoServer server = new MongoServer(new MemoryBackend().version(new Recent()));
        server.bind("127.0.0.1", Integer.parseInt(arguments[0]));
        System.out.println("port " + server.getLocalAddress().getPort());
        System.out.flush();
        while (System.in.read() >= 0) {
            continue;
        }
        server.shutdownNow();
    }

    /** Version 5.0 with its wire version: clients of today refuse an older one. */
    private static final class Recent implements MongoVersion {
        @Override
        public java.util.List<Integer> getVersionArray() {
            return java.util.List.of(5, 0, 0);
        }

        @Override
        public int getWireVersion() {
            return 13;
        }
    }
}
