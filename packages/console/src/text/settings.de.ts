import type { settingsEn } from './settings.en.ts'

/** Texte der Einstellungen. */
export const settingsDe: Readonly<Record<keyof typeof settingsEn, string>> = {
  'settings.title': 'Einstellungen',
  'settings.how':
    'Einstellungen stehen in der Konfigurationsdatei der Box (/etc/svc/control.yaml oder die, die --config nennt) und werden dort geändert; danach liest der Dienst sie neu:',
  'settings.docs': 'Alle Einstellungen und wozu sie da sind',
  'settings.search': 'Einstellung suchen',
  'settings.onlySet': 'Nur was jemand gesetzt hat',
  'settings.count': '{count} von {all} {all|Einstellung|Einstellungen}',
  'settings.awaiting':
    '{count} {count|Einstellung hat|Einstellungen haben} einen anderen Wert, der ab dem nächsten Start des Dienstes gilt:',
  'settings.awaits': 'wartet auf einen Start',
  'settings.isSet': 'gesetzt',
  'settings.value': 'In Kraft',
  'settings.default': 'Ohne sie',
  'settings.from': 'Woher',
  'settings.from.default': 'niemand hat sie gesetzt',
  'settings.takes': 'Nimmt',
  'settings.counts': 'Eine Änderung gilt',
  'settings.apply.hot': 'sofort, wenn die Datei neu gelesen wird',
  'settings.apply.reload': 'wenn die Datei neu gelesen wird: ihr Plugin wird neu geladen',
  'settings.apply.restart': 'ab dem nächsten Start des Dienstes',
  'settings.variable': 'Variable',
  'settings.flag': 'Flag',
  'settings.plugin': 'Vom Plugin',
  'settings.inFile': 'In der Datei:',
  'settings.empty': 'leer',
  'settings.none': 'Keine Einstellung heißt so',
  'settings.none.help': 'Versuche einen Teil des Namens oder ein Wort davon, wozu sie da ist.',
}
