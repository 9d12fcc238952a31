/// Bounds of the door, each with a name.
package struct GatewayLimits: Sendable {
    /// Of one request, an import apart. Ten thousand installations of usual length fit.
    package var bodyBytesMax: Int
    /// Of all bodies that are held at once, imports included: an answer in time beats memory without end. Each app may
    /// hold as much of it as it leaves free.
    package var bodiesInFlightBytesMax = 64 << 20
    /// What one import is counted as, however long it is: the chunks that wait for it, the line that one ended in, the
    /// registrations and answers of the batch in hand, and those that are read meanwhile.
    package var importBytes = 1 << 20
    /// Of the bodies in flight, what imports may hold: they last, and must leave room for other requests (P7).
    package var importsInFlightBytesMax = 32 << 20
    /// Lists, and looks at messages and pushes, that are under way at once: each may take the database a second. An app may
    /// have as many of them as it leaves free, which is two while nobody else has any (`ReadAdmission`).
    package var costlyReadsMax = 4
    /// Of one app, those that wait for their turn.
    package var costlyReadsWaitingPerAppMax = 64
    /// After so long one waits no more.
    package var readAdmissionTimeout: Duration = .seconds(10)
    /// Of one line of an import.
    package var lineBytesMax = 64 << 10
    /// Registrations that an import hands over at once.
    package var batchLinesMax = 500
    /// The same, as bytes of their lines.
    package var batchBytesMax = 128 << 10
    /// Of a request's header fields together.
    package var headerBytesMax = 32 << 10
    package var headerFieldsMax = 100
    package var connectionsMax = 4_096
    /// Requests of one connection that are parsed and not answered. A client that pipelines more gets all its answers; the
    /// later requests wait as raw bytes, which take a tenth of a parsed request's memory.
    package var unansweredRequestsMax = 8
    /// The same, as bytes behind the request that is answered next. A head of the largest size fits twice.
    package var unansweredBytesMax = 64 << 10
    /// The most bytes that one read from a socket brings: a few dozen registrations.
    package var readBytesMax = 16 << 10
    /// The most bytes that a connection's first read brings. Few requests are longer, and most connections are idle.
    package var firstReadBytes = 2 << 10
    /// Written bytes that the socket has not taken, above which a connection is written no further answer. Under TLS each
    /// small answer lies in a buffer of some kilobytes, so that 64 kB of answers took more than a megabyte.
    package var unsentBytesMax = 16 << 10
    /// The bytes that the kernel keeps for a connection in each direction; Linux doubles it. By itself it keeps megabytes for a client
    /// that sends on and reads nothing. More would help only an import over a long line: this is a megabyte a second at 100 ms.
    package var socketBufferBytes = 128 << 10
    /// Of a connection on which nothing is asked.
    package var idleTimeout: Duration = .seconds(75)
    /// Of the head of a request, from its first byte to its last. A phone's network may lose a packet or two.
    package var headTimeout: Duration = .seconds(30)
    /// Of one body, from its first byte to its last, an import apart: whoever trickles holds what others need.
    package var bodyTimeout: Duration = .seconds(60)
    /// Between two pieces of a body, an import's too; and between two pieces of what is written, of which the client takes
    /// nothing. Less than the idle timeout, which hangs up without a word.
    package var bodyPauseMax: Duration = .seconds(60)
    /// How long a client that still sends what nobody will read is heard after its answer. At once would be a reset,
    /// which takes the answer away that it is just reading.
    package var lingerTime: Duration = .seconds(5)
    /// Clients that follow messages on this process: each holds a connection for hours.
    package var streamsMax = 1_024
    /// Of them, one app's.
    package var streamsPerAppMax = 128
    /// Between two looks at a message that is followed.
    package var eventPause: Duration = .seconds(1)
    /// After so long without anything new a follower hears a line without a meaning. Less than proxies wait for.
    package var heartbeatEvery: Duration = .seconds(15)
    /// How old the knowledge may be that a follower's key opens its message.
    package var eventKeyCheck: Duration = .zero

    package init(bodyBytesMax: Int) { self.bodyBytesMax = bodyBytesMax }
}
