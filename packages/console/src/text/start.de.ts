import type { startEn } from './start.en.ts'

/** Texte des Einrichtens. */
export const startDe: Readonly<Record<keyof typeof startEn, string>> = {
  'start.title': 'Die Box einrichten',
  'start.about': 'Fünf Schritte von der neuen Box zum Telefon, das online ist. Jeder geht auch noch einmal.',
  'start.done': 'Erledigt',
  'start.open': 'Zu tun',
  'start.save': 'Speichern',
  'start.look.back': 'Jetzt nicht',
  'start.apply': 'Anwenden',
  'start.saved': 'Gespeichert.',
  'start.inForce': 'Gespeichert und in Kraft.',
  'start.byHand': 'Der Dienst darf {file} nicht selbst schreiben. Schreibe diese Zeilen hinein:',
  'start.byHand.reload': 'Dann lass sie neu lesen:',
  'start.byHand.fixed':
    '{key} ist durch {by} gesetzt, und das geht der Datei vor. Ändere es dort und starte den Dienst neu.',
  'start.byHand.waiting': 'Wartet, bis es in Kraft ist.',
  'start.country': '1. Land',
  'start.country.is': 'Für den Funk gelten die Regeln von {country}.',
  'start.country.missing': 'Es ist {country}. Sage, wo die Box steht, bevor sie sendet.',
  'start.country.lab': 'ein Labor: nichts darf senden',
  'start.country.where': 'Wo die Box steht',
  'start.country.help':
    'Dessen Regeln entscheiden, welche Frequenzen erlaubt sein können. Was unter anderen Regeln sendet, wird angehalten.',
  'start.plmn': '2. Netznummer (PLMN)',
  'start.plmn.lab':
    'Sie ist {plmn}, eine Nummer für Labore, die kein Betreiber hat. Behalte sie, bis die Behörde dir eine gibt.',
  'start.plmn.is': 'Sie ist {plmn}. Neue SIMs tragen sie.',
  'start.plmn.mcc': 'Landeskennzahl (MCC)',
  'start.plmn.mcc.help': 'Drei Ziffern; 999 ist für Labore.',
  'start.plmn.mcc.of': 'Drei Ziffern: {code} in {country}, 999 für Labore.',
  'start.plmn.mcc.wrong': 'Drei Ziffern, etwa 999.',
  'start.plmn.mnc': 'Netzkennzahl (MNC)',
  'start.plmn.mnc.help': 'Zwei oder drei Ziffern, wie die Behörde sie gab: 05 und 005 sind zwei Netze.',
  'start.plmn.mnc.wrong': 'Zwei oder drei Ziffern, etwa 99 oder 070.',
  'start.plmn.unassigned': 'Die Kennzahl {mcc} hat kein Land.',
  'start.plmn.elsewhere': '{mcc} ist die Kennzahl von {owners}, und die Box steht in {country}.',
  'start.plmn.length': 'Netze von {owners} haben drei Ziffern.',
  'start.plmn.sims':
    'SIMs, die es schon gibt, tragen {plmn}: unter einer anderen Nummer kommen sie nicht ins Netz.',
  'start.apn': '3. Zugang ins Internet (APN)',
  'start.apn.names': 'Namen der Zugangspunkte',
  'start.apn.help':
    'Was Telefone in ihren Einstellungen haben, durch Kommas getrennt. Der erste gilt, wenn ein Telefon keinen nennt.',
  'start.person': '4. Die erste Person',
  'start.person.about':
    'Eine Person meldet sich mit eigenem Namen an, und das Protokoll sagt, wer was tat. Das Token des ersten Starts ist für Notfälle.',
  'start.person.name': 'Name',
  'start.person.invite': 'Einladen',
  'start.person.link':
    '{name} öffnet diesen Link binnen drei Tagen und wählt ein Passwort. Er wird nur einmal gezeigt.',
  'start.person.qr': 'der Einladung',
  'start.person.copy': 'Link kopieren',
  'start.sim': '5. Eine Test-SIM',
  'start.sim.about': 'Eine Karte, um zu sehen, dass alles geht, von den Schlüsseln bis ins Internet.',
  'start.sim.issue': 'Test-SIM ausstellen',
  'start.sim.on': 'Ihr Telefon war online: das Netz geht.',
  'start.sim.waiting': 'Wartet auf ihr Telefon; im Kern: {state}.',
  'start.sim.insert':
    'Schreibe die Karte und stecke sie in ein Telefon. Neben dem Labor-Kern von npm start, im Terminal:',
  'start.provisioning.pending': 'noch nicht',
  'start.provisioning.synced': 'ja',
  'start.provisioning.failed': 'abgelehnt',
}
