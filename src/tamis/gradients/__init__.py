"""Per-example gradients of the response loss, projected, factored to rank one and stored."""
