import type { backupEn } from './backup.en.ts'

/** Texte für Backup und Wiederherstellung. */
export const backupDe: Readonly<Record<keyof typeof backupEn, string>> = {
  'backup.title': 'Backup und Wiederherstellung',
  'backup.docs': 'Was in einem Backup ist und was nicht',
  'backup.take': 'Backup machen',
  'backup.take.what':
    'Eine Datei mit allem von diesem Moment: SIMs, Leute, Regeln, Protokoll, installierte Plugins. Die Konfigurationsdatei ist nicht darin.',
  'backup.taken': '{name} ist heruntergeladen, {size}. Heb es auf einer anderen Maschine auf.',
  'backup.taking': 'Läuft: {size} …',
  'backup.passphrase': 'Passphrase',
  'backup.passphrase.help': 'Mindestens {count} Zeichen. Ohne sie öffnet niemand die Datei, auch du nicht.',
  'backup.passphrase.again': 'Passphrase noch einmal',
  'backup.passphrase.other': 'Die beiden sind nicht gleich.',
  'backup.passphrase.draw': 'Eine ziehen',
  'backup.passphrase.drawn':
    'Schreib sie auf oder speichere sie in einem Passwort-Manager, bevor du weitermachst: sie steht nirgends.',
  'backup.strength': 'Stärke',
  'backup.strength.short': 'zu kurz',
  'backup.strength.weak': 'leicht zu erraten',
  'backup.strength.fair': 'brauchbar',
  'backup.strength.strong': 'stark',
  'backup.plain': 'Ohne Passphrase',
  'backup.plain.help':
    'Dann ist kein Schlüssel in der Datei: sie nützt nur dieser Box, und nicht, wenn diese Box verloren ist.',
  'backup.history': 'Backups bisher',
  'backup.history.none': 'Noch hat niemand ein Backup gemacht',
  'backup.history.none.help':
    'Mach jetzt eines, und nach jeder Änderung, die du nicht noch einmal machen willst.',
  'backup.history.taken': 'Gemacht',
  'backup.history.restored': 'Eingespielt',
  'backup.history.plain': 'ohne Passphrase',
  'backup.history.failed': 'gescheitert',
  'backup.schedule': 'Alle',
  'backup.schedule.none':
    'Kein Backup geschieht von selbst. Setze backup.schedule in der Konfigurationsdatei, zum Beispiel auf 24h.',
  'backup.directory': 'Nach',
  'backup.keep': 'Aufgehoben',
  'backup.restore': 'Backup einspielen',
  'backup.restore.what':
    'Zuerst wird es bis zum letzten Byte gelesen und geprüft, und du siehst, was anders wäre. Nichts ändert sich, bis du zustimmst.',
  'backup.restore.passphrase': 'Die, mit der es gemacht wurde; leer, wenn ohne.',
  'backup.file': 'Datei des Backups',
  'backup.adopt': 'Es ist von einer anderen Box: diese Box wird zu jener',
  'backup.adopt.help':
    'Für eine neue Maschine anstelle einer verlorenen. Schalte die alte vorher aus: es darf sie nur einmal geben.',
  'backup.check': 'Datei prüfen',
  'backup.check.of': 'Datei prüfen, {size}',
  'backup.checking': 'Die Datei wird gesendet und geprüft',
  'backup.checked': 'Die Datei ist vollständig und kann hier eingespielt werden.',
  'backup.of': 'Von der Box',
  'backup.at': 'Gemacht',
  'backup.version': 'Mit Version',
  'backup.keys': 'Schlüssel',
  'backup.keys.with': 'darin',
  'backup.keys.without': 'nicht darin: nur für diese Box',
  'backup.difference': 'Was anders wäre',
  'backup.difference.what':
    '{count} von {all} {all|Tabelle|Tabellen} {count|hätte|hätten} mehr oder weniger Zeilen. Zeilen, die es in beiden gibt, können trotzdem anderes sagen.',
  'backup.difference.none': 'Jede Tabelle hat so viele Zeilen wie im Backup.',
  'backup.table': 'Tabelle',
  'backup.rows.now': 'Zeilen jetzt',
  'backup.rows.then': 'Zeilen dann',
  'backup.rows.difference': 'Unterschied',
  'backup.restore.go': 'Dieses Backup einspielen',
  'backup.restore.title': 'Diese Box auf das Backup von {name} zurücksetzen?',
  'backup.restore.state':
    'Alles, was seit dem Backup geändert wurde, ist weg: SIMs, Leute, Regeln, Kontingente.',
  'backup.restore.start': 'Die Box geht vom Sender und startet neu; alle müssen sich neu anmelden.',
  'backup.restore.sims':
    'SIMs, die seither ausgegeben wurden, kommen als widerrufen zurück, damit kein Telefon unbemerkt auf Sendung ist.',
  'backup.restore.credentials':
    'Passwörter, Tokens und Rollen sind die des Backups: was seither entzogen wurde, gilt wieder.',
  'backup.restore.kept': 'Was jetzt ist, bleibt in einem Ordner daneben erhalten.',
  'backup.restore.understood': 'Ich weiß, was weg sein wird',
  'backup.restored': 'Die Box ist, was sie im Backup von {name} war.',
  'backup.restored.kept':
    'Was vorher war, liegt in {folder} im Datenverzeichnis. Entferne es, wenn es nicht gebraucht wird: es enthält Schlüssel.',
  'backup.restored.signIn': 'Melde dich neu an, mit dem, was damals galt.',
}
