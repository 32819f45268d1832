//! What gave first: recorded windows ▶ evidence ▶ a verdict.
