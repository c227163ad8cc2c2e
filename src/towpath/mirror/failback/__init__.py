"""The way back: a link that was failed over is turned round, and no record is destroyed."""
