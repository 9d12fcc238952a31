import Gateway

@main
struct Carillon {
    static func main() async {
        await CarillonCommand.runToEnd()
    }
}
