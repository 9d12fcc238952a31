import Testing
import carillon_bench

@Suite("The command line of the bench")
struct BenchOptionsTests {
    /// The error message for these arguments; nil if the bench would run.
    private func refusal(_ arguments: String) -> String? {
        do {
            _ = try BenchCommand.parseAsRoot(arguments.split(separator: " ").map(String.init))
            return nil
        } catch { return BenchCommand.message(for: error) }
    }

    @Test(
        "refuses, in one line, options of which one would be ignored",
        arguments: [
            ("broadcast --rate 1000 --rounds 3", "--rounds is of whole rounds: --rate sends one broadcast."),
            ("broadcast --cancel --rounds 5", "--rounds is of whole rounds: --cancel sends one broadcast."),
            ("broadcast --cancel --answer-ms 50", "--answer-ms is of whole rounds: --cancel sends one broadcast."),
            (
                "broadcast --pause-seconds 9 --answer-ms 50",
                "--answer-ms is of whole rounds: --pause-seconds sends one broadcast."
            ),
            ("broadcast --tag sport --rounds 2", "--rounds is of whole rounds: --tag sends one broadcast."),
            ("broadcast --pause-seconds 9 --cancel", "Only one of --pause-seconds and --cancel."),
            ("broadcast --rate 1000 --filter x", "Only one of --rate and --filter."),
            ("broadcast --filter x --tag sport", "Only one of --filter and --tag."),
            ("broadcast --tag sport --local-hour 20", "Only one of --tag and --local-hour."),
            (
                "broadcast --devices 40000 --rate 8001",
                "--rate takes a fifth of --devices at most: else there are no seconds to count."
            ),
            ("latency --singles 200 --beside-devices 40000", "Only one of --singles and --beside-devices."),
            ("latency --singles 200 --pushes 10", "--singles says how many: --pushes is for those one at a time."),
            ("latency --pushes 10 --rounds 2", "--rounds is of --beside-devices and --singles."),
            ("latency --pushes 10 --connections 8", "--connections is of --singles."),
        ])
    func refused(arguments: String, sentence: String) {
        #expect(refusal(arguments) == sentence)
    }

    @Test(
        "accepts options that can be measured together",
        arguments: [
            "broadcast --rate 8000 --devices 40000 --values", "broadcast --rate 40000 --pause-seconds 2",
            "broadcast --rate 5000 --cancel --values", "broadcast --filter x --values", "broadcast --local-hour 20",
            "broadcast --values --answer-ms 20 --rounds 1", "latency --singles 200 --connections 8",
            "latency --beside-devices 40000 --pushes 10 --rounds 2", "latency --pushes 10",
            "strangers --strangers 500 --requests 10", "triggers --devices 2000 --lines 5000 --rounds 1",
        ])
    func taken(arguments: String) {
        #expect(refusal(arguments) == nil)
    }
}
