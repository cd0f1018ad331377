# SPDX-License-Identifier: Apache-2.0
"""A command at a terminal of its own, spoken to as a person does: who types waits for what is shown."""
import os
import pty
import select
import sys
import time


class Dialogue:
    def __init__(self, command):
        self.pid, self.terminal = pty.fork()
        if self.pid == 0:
            os.execv(command[0], command)
        self.seen = b""

    def tell(self, text):
        os.write(self.terminal, text)

    def until(self, text, seconds=60):
        """What has been shown up to the text is passed over. Ends the test if the text does not come."""
        end = time.time() + seconds
        while text not in self.seen:
            if time.time() > end:
                sys.exit(f"waited in vain for {text!r}, and saw {self.seen[-400:]!r}")
            if select.select([self.terminal], [], [], 0.2)[0]:
                self.seen += os.read(self.terminal, 4096)
        self.seen = self.seen[self.seen.index(text) + len(text):]

    def status(self):
        """Of the command, once it has ended."""
        while True:
            try:
                if not os.read(self.terminal, 4096):
                    break
            except OSError:
                break
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
