"""A guard in front of an OpenAI-compatible chatbot: each reply is audited before it is sent."""
