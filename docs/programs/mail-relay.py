#!/usr/bin/env python3
"""Takes Steeple's webhooks on loopback and hands them on as e-mail to your own relay. Python 3.9 or later, nothing else.

    SECRET_FILE=/etc/svc/mail.secret MAIL_FROM=box@example.org MAIL_TO=ops@example.org SMTP=mail.example.org:25 ./mail-relay.py

It answers 204 when the relay has taken the mail; until then Steeple sends the message again. A message that came twice is a mail
with the same Message-ID.
"""
import base64, hashlib, hmac, json, os, smtplib, time
from email.message import EmailMessage
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

SECRETS = [base64.b64decode(line.strip().removeprefix("whsec_")) for line in open(os.environ["SECRET_FILE"]) if line.strip()]
FROM, TO = os.environ["MAIL_FROM"], os.environ["MAIL_TO"]
SMTP_HOST, _, SMTP_PORT = os.environ.get("SMTP", "127.0.0.1:25").rpartition(":")
MOST = 65536


def is_signed(headers, body):
    """Standard Webhooks: HMAC-SHA256 over id, time and body, and the time is not older than five minutes."""
    message_id, at = headers.get("webhook-id", ""), headers.get("webhook-timestamp", "")
    if not at.isdigit() or abs(time.time() - int(at)) > 300:
        return False
    signed = f"{message_id}.{at}.".encode() + body
    right = ["v1," + base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode() for key in SECRETS]
    given = headers.get("webhook-signature", "").split(" ")
    return any(hmac.compare_digest(one, other) for one in right for other in given)


class Handler(BaseHTTPRequestHandler):
    timeout = 10

    def do_POST(self):
        length = int(self.headers.get("content-length", "0"))
        if length > MOST:
            return self.send_error(413)
        body = self.rfile.read(length)
        if not is_signed(self.headers, body):
            return self.send_error(401)
        event = json.loads(body)
        mail = EmailMessage()
        mail["From"], mail["To"], mail["Date"] = FROM, TO, formatdate(localtime=True)
        mail["Subject"] = " ".join(event["text"].split())[:180]
        mail["Message-ID"] = f"<{self.headers['webhook-id']}@{event['data']['node']['id']}>"
        mail.set_content(event["text"] + "\n\n" + json.dumps(event["data"], indent=2) + "\n")
        try:
            with smtplib.SMTP(SMTP_HOST, int(SMTP_PORT), timeout=8) as relay:
                relay.send_message(mail)
        except (OSError, smtplib.SMTPException) as error:
            return self.send_error(503, explain=str(error))
        self.send_response(204)
        self.end_headers()

    def log_message(self, *_):
        """The path may hold what nobody else should know."""


if __name__ == "__main__":
    server = ThreadingHTTPServer(("127.0.0.1", int(os.environ.get("PORT", "8026"))), Handler)
    print(f"http://127.0.0.1:{server.server_port}/", flush=True)
    server.serve_forever()
