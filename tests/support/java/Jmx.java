import com.sun.tools.attach.VirtualMachine;
import javax.management.ObjectName;
import javax.management.remote.JMXConnectorFactory;
import javax.management.remote.JMXServiceURL;

/** Prints an attribute of a bean of a running JVM: java Jmx.java PID BEAN ATTRIBUTE. */
public class Jmx {
    public static void main(String[] told) throws Exception {
        VirtualMachine machine = VirtualMachine.attach(told[0]);
        JMXServiceURL url = new JMXServiceURL(machine.startLocalManagementAgent());
        machine.detach();
        try (var connector = JMXConnectorFactory.connect(url)) {
            var server = connector.getMBeanServerConnection();
            System.out.println(server.getAttribute(new ObjectName(told[1]), told[2]));
        }
    }
}
