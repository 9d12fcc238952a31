import Gateway

await CarillonCommand.main()
