"""HTTP requests to model servers: limited in time and size, behind a circuit breaker."""
