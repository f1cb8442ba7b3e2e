"""What a task looks up: values of references, and the settings of its clients."""
