import java.util.Properties;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.common.security.token.delegation.DelegationToken;

/**
 * Makes a delegation token for whoever logs in: `Token key=value...`. Prints its id and its HMAC, with which clients log in.
 */
public final class Token {
    public static void main(String[] arguments) throws Exception {
        Properties properties = new Properties();
        for (String argument : arguments) {
            String[] pair = argument.split("=", 2);
            properties.put(pair[0], pair[1]);
        }
        try (Admin admin = Admin.create(properties)) {
            DelegationToken token = admin.createDelegationToken().delegationToken().get();
            System.out.println(token.tokenInfo().tokenId());
            System.out.println(token.hmacAsBase64String());
        }
    }
}
