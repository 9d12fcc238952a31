@main
struct CarillonBench {
    static func main() async {
        await BenchCommand.main()
    }
}
