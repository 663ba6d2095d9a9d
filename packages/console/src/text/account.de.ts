import type { accountEn } from './account.en.ts'

/** Texte des eigenen Kontos. */
export const accountDe: Readonly<Record<keyof typeof accountEn, string>> = {
  'account.title': 'Mein Konto',
  'account.who': 'Wer angemeldet ist',
  'account.by': 'Angemeldet als',
  'account.kind.user': 'Person',
  'account.kind.token': 'Token',
  'account.kind.admin-env': 'Admin-Token der Box',
  'account.kind.cli': 'Zertifikat',
  'account.noPerson':
    'Passwörter, Passkeys und Sitzungen ändert, wer sich angemeldet hat. Du bist mit einem anderen Zugang hier.',
  'account.password': 'Passwort ändern',
  'account.password.now': 'Passwort bisher',
  'account.password.new': 'Neues Passwort',
  'account.password.help': 'Mindestens {count} Zeichen. Alle deine anderen Sitzungen enden.',
  'account.password.again': 'Neues Passwort noch einmal',
  'account.password.other': 'Die beiden sind nicht gleich.',
  'account.password.done': 'Das Passwort ist geändert.',
  'account.recovery':
    'Sie lassen dich ein, wenn das Telefon mit der Authenticator-App weg ist: tippe einen anstelle der sechs Ziffern der App. Jeder gilt einmal. Bewahre sie getrennt vom Telefon auf. Ist keiner mehr übrig, gibt dir ein Administrator andere.',
  'account.recovery.left': '{count} von zehn {count|ist|sind} übrig.',
  'account.recovery.new': 'Neue Wiederherstellungscodes',
  'account.recovery.new.what':
    'Zehn neue werden einmal gezeigt. Die du hast, gelten dann nicht mehr. Authenticator und Passwort bleiben.',
  'account.recovery.drawn': 'Deine neuen Wiederherstellungscodes',
  'account.recovery.box': 'Wenn sich niemand mehr anmelden kann, kann es, wer an der Box steht:',
  'account.sessions': 'Meine Sitzungen',
  'account.passkeys.what':
    'Ein Passkey ersetzt Passwort und Code: dieses Gerät fragt nach Finger, Gesicht oder PIN.',
  'account.passkeys.noTls':
    'Dieser Browser macht Passkeys nur über TLS, unter dem Namen der Box, oder auf der Box selbst.',
  'account.passkey.label': 'Name des Passkeys',
  'account.passkey.label.help': 'Um ihn wiederzuerkennen: das Gerät zum Beispiel.',
  'account.passkey.make': 'Passkey hinzufügen',
  'account.passkey.made': 'Der Passkey ist hinzugefügt. Er öffnet die Box ab der nächsten Anmeldung.',
  'account.passkey.cancelled':
    'Kein Passkey ist entstanden: abgebrochen, oder dieses Gerät kann keinen machen.',
  'account.passkey.remove.title': 'Den Passkey {name} entfernen?',
  'account.passkey.remove.what': 'Er öffnet von da an nichts mehr. Passwort und Code schon.',
}
