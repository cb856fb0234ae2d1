"""Programs that get their credential from another program: docker and kubernetes for Python, and pip's package index with keyring.

credential_clients.py PROVIDER REGISTRY CLUSTER: prints the credentials as JSON. The programs find lodge by PATH."""

import json
import sys

import docker.credentials
import google.auth.pluggable
from kubernetes.config.exec_provider import ExecProvider
from kubernetes.config.kube_config import ConfigNode


def from_docker(registry):
    store = docker.credentials.Store("lodge")
    try:
        return store.get(registry)
    except docker.credentials.CredentialsNotFound:
        return "not found"
    except docker.credentials.StoreError as error:
        return f"error: {error}"


def from_kubectl(cluster):
    config = ConfigNode("exec", {
        "apiVersion": "client.authentication.k8s.io/v1", "command": "lodge", "args": ["credential", "kubectl"],
        "interactiveMode": "Never", "provideClusterInfo": True})
    try:
        return ExecProvider(config, cwd=None, cluster=ConfigNode("cluster", {"server": cluster})).run()
    except Exception as error:
        return f"error: {error}"


def from_google(audience):
    credentials = google.auth.pluggable.Credentials(
        audience=audience, subject_token_type="urn:ietf:params:oauth:token-type:id_token", token_url="https://sts.googleapis.com/v1/token",
        credential_source={"executable": {"command": "lodge credential google", "timeout_millis": 60000}})
    try:
        return credentials.retrieve_subject_token(None)
    except Exception as error:
        return f"error: {error}"


print(json.dumps({
    "Google": from_google("//iam.googleapis.com/projects/1/providers/p"), "other Google": from_google("//other.example/p"),
    "registry": from_docker(sys.argv[1]), "other registry": from_docker("https://other.example"),
    "registries": docker.credentials.Store("lodge").list(),
    "cluster": from_kubectl(sys.argv[2]), "other cluster": from_kubectl("https://other.example")}))
