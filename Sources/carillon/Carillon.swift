import Server

@main
struct Carillon {
    static func main() async { await CarillonCommand.runToEnd() }
}
