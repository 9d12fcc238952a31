import Glibc

/// The settings of our private PostgreSQL, with reasons. Written at each start; ALTER SYSTEM overrides them.
enum ServerConfiguration {
    static let fileName = "carillon.conf"

    static func text(sharedBuffersMegabytes: Int) -> String {
        """
        # Written by carillon at each start. To change a value, use ALTER SYSTEM.

        # Reached over its Unix socket only, in a folder that is closed to others.
        listen_addresses = ''
        port = 5432
        unix_socket_permissions = 0700
        max_connections = 100

        # Tokens and payloads stand in statements and rows: none of them may reach a log.
        # Messages of clients' errors are not logged at all (log_min_messages = log leaves ERROR and WARNING out).
        log_min_messages = log
        log_error_verbosity = terse
        log_min_error_statement = panic
        log_statement = none
        log_duration = off
        log_min_duration_statement = -1
        log_parameter_max_length = 0
        log_parameter_max_length_on_error = 0
        log_checkpoints = off
        log_autovacuum_min_duration = -1
        logging_collector = off
        lc_messages = 'C'
        timezone = 'UTC'
        log_timezone = 'UTC'

        # A message that was answered 202 survives the machine's crash.
        fsync = on
        synchronous_commit = on
        full_page_writes = on

        # An eighth of the memory, and never more than a gigabyte: the gateway and the page cache need theirs.
        shared_buffers = \(sharedBuffersMegabytes)MB
        # A broadcast's badge updates write the same pages again and again: rare checkpoints keep their full-page
        # images, the larger part of the log, small. Recovery of two gigabytes takes well under a minute.
        max_wal_size = 2GB
        min_wal_size = 256MB
        checkpoint_timeout = 15min
        checkpoint_completion_target = 0.9
        wal_compression = on
        # Flash and memory answer random reads nearly as fast as sequential ones.
        random_page_cost = 1.1

        # Short statements on few cores: workers and compiled plans cost more than they bring.
        max_parallel_workers_per_gather = 0
        jit = off

        # Narrow hot tables turn over fast; a late vacuum costs more than a frequent one.
        autovacuum_naptime = 15s
        autovacuum_vacuum_scale_factor = 0.05
        autovacuum_vacuum_cost_limit = 2000

        # A statement whose client was killed ends instead of holding its locks.
        client_connection_check_interval = 2s

        """
    }

    /// Trust is safe because only one user can reach the socket at all.
    static let hostRules = "# Written by carillon: the socket's folder is closed to other users.\nlocal all all trust\n"

    static func sharedBuffersMegabytes() -> Int {
        let bytes = sysconf(Int32(_SC_PHYS_PAGES)) * sysconf(Int32(_SC_PAGESIZE))
        return min(1_024, max(128, bytes / 8 / 1_048_576))
    }
}
