"""The deployment key of the tests: whoever plans, writes or commits in a test does it as a deployment with a key."""

from floe.model.plan_seal import DeploymentKey

KEY_TEXT = "deployment-key-of-all-tests-0123456789"
KEY = DeploymentKey.of(KEY_TEXT, "the tests")
