enum TransportRoom {}
