"""Floor 2: brokers. The only package that opens sockets to them.

`connection` is where every connection begins; `admin` is the control plane on kafka-python's
protocol messages; `codes` and `border` say what went wrong.
"""
