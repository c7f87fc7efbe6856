// Nothing: cargo wants a target before it fetches a dependency.
