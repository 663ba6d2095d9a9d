import type { sessionsEn } from './sessions.en.ts'

/** Texte der Sitzungen. */
export const sessionsDe: Readonly<Record<keyof typeof sessionsEn, string>> = {
  'sessions.title': 'Verbindungen',
  'sessions.sim': 'SIM',
  'sessions.state': 'Zustand',
  'sessions.state.going': 'Laufende',
  'sessions.state.active': 'aktiv',
  'sessions.state.idle': 'ruht',
  'sessions.state.ended': 'beendet',
  'sessions.apn': 'APN',
  'sessions.down': 'Empfangen',
  'sessions.up': 'Gesendet',
  'sessions.since': 'Beginn',
  'sessions.length': 'Dauer',
  'sessions.address': 'Adresse',
  'sessions.technology': 'Netz',
  'sessions.technology.lte': '4G',
  'sessions.technology.nr': '5G',
  'sessions.cell': 'Zelle',
  'sessions.incomplete': 'Mindestens: manches wurde vielleicht nicht gesehen',
  'sessions.none': 'Niemand ist online',
  'sessions.none.help':
    'Ein Telefon steht hier, sobald es im Netz ist. Fehlt eines, öffne seine SIM: sie sagt, warum.',
  'sessions.none.found': 'Keine Verbindung ist so',
}
