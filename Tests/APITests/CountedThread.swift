import Glibc
import Reactor

/// A thread for one task, so that the task's processor time is separate from that of other tests.
///
/// Counts only the task's own work, without tasks that it leaves behind and threads that it waits for.
final class CountedThread: TaskExecutor {
    private let loop: ReactorLoop

    init() throws { loop = try ReactorLoop(name: "counted") }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        let executor = unsafe asUnownedTaskExecutor()
        loop.perform { unsafe job.runSynchronously(on: executor) }
    }

    func stop() { loop.stop() }

    /// The processor time of the work on this thread.
    func time(of work: @Sendable () async throws -> Void) async throws -> Duration {
        try await withTaskExecutorPreference(self) {
            precondition(loop.isCurrent)
            let before = Self.threadTime()
            try await work()
            precondition(loop.isCurrent)
            return Self.threadTime() - before
        }
    }

    private static func threadTime() -> Duration {
        var time = timespec()
        unsafe clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
    }
}
