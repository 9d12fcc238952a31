"""Keys and certificates of the peers, created by the cryptography package."""

import datetime
import ipaddress

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID


def private_pem(key):
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()).decode()


def public_pem(key):
    return key.public_key().public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo).decode()


def signing_key():
    return ec.generate_private_key(ec.SECP256R1())


def account_key():
    return rsa.generate_private_key(65537, 2048)


def server_identity(place):
    """Writes ca.pem, and server.pem and server.key for localhost."""
    now = datetime.datetime.now(datetime.timezone.utc)
    authority, server = signing_key(), signing_key()

    def certificate(name, key, authority_name, extensions):
        builder = (
            x509.CertificateBuilder()
            .subject_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)]))
            .issuer_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, authority_name)]))
            .public_key(key.public_key()).serial_number(x509.random_serial_number())
            .not_valid_before(now - datetime.timedelta(hours=1)).not_valid_after(now + datetime.timedelta(days=2)))
        for extension, critical in extensions:
            builder = builder.add_extension(extension, critical)
        return builder.sign(authority, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)
    ca_name = "Authority of an interop case"
    ski = x509.SubjectKeyIdentifier.from_public_key(authority.public_key())
    usage = x509.KeyUsage(False, False, False, False, False, True, True, False, False)
    (place / "ca.pem").write_bytes(certificate(
        ca_name, authority, ca_name, [(x509.BasicConstraints(True, 0), True), (ski, False), (usage, True)]))
    names = x509.SubjectAlternativeName(
        [x509.DNSName("localhost"), x509.IPAddress(ipaddress.ip_address("127.0.0.1"))])
    (place / "server.pem").write_bytes(certificate("localhost", server, ca_name, [
        (x509.BasicConstraints(False, None), True), (names, False),
        (x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), False),
        (x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(ski), False)]))
    (place / "server.key").write_text(private_pem(server))
