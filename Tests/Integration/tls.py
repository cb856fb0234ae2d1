"""A provider with a certificate of a private CA."""

import subprocess

from glewlwyd import Glewlwyd
from world import PATIENT, address_shown


def run(checks, world):
    server = Glewlwyd(world, access_ttl=60, tls=True)
    world.use_settings({"types": {"private": server.type()}})
    checks.ends("without its CA: a network error with a hint",
                world.run("sign-in", "--no-browser", *PATIENT), 7, "hint:", "--ca-file")
    other = world.path("other-ca.pem")
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
                    "-days", "2", "-subj", "/CN=other", "-keyout", world.path("other.key"), "-out", other],
                   check=True, capture_output=True, timeout=30)
    checks.ends("with another CA: a network error with a hint",
                world.run("sign-in", "--no-browser", *PATIENT, "--ca-file", other), 7, "hint:", "--ca-file")
    missing = world.run("sign-in", "--no-browser", *PATIENT, "--ca-file", world.path("none.pem"))
    checks.ends("with a missing CA file: a settings error", missing, 8, "none.pem")
    world.write("text.pem", "no certificate\n")
    text = world.run("sign-in", "--no-browser", *PATIENT, "--ca-file", world.path("text.pem"))
    checks.ends("with a CA file without a certificate: a settings error", text, 8, "text.pem")

    waiting = world.start("sign-in", "--no-browser", *PATIENT, "--ca-file", server.ca_file)
    url = address_shown(waiting)
    if url:
        server.approve(url)
    checks.ends("with --ca-file sign-in succeeds", waiting.finish(), 0, "Signed in")
    renewed = world.run("token", "--refresh", LODGE_CA_FILE=server.ca_file)
    checks.check("with LODGE_CA_FILE refresh succeeds",
                 renewed.status == 0 and server.user_info(renewed.out.strip()).status == 200, renewed)
    world.use_settings({"types": {"private": server.type(caFile=server.ca_file)}})
    checks.ends("with caFile in the settings refresh succeeds", world.run("token", "--refresh"), 0)
    out = world.run("sign-out", "--output", "json")
    checks.check("with caFile in the settings sign-out succeeds",
                 out.status == 0 and out.json and out.json[0]["revocation"] == "done", out)
