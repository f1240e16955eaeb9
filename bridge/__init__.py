"""The core of Tieline: words, states and rules of DESIGN, without any input or output."""
