import type { homeEn } from './home.en.ts'

/** Texte des ersten Bildschirms. */
export const homeDe: Readonly<Record<keyof typeof homeEn, string>> = {
  'home.title': 'Übersicht',
  'home.because.country_code': 'kein Land eingestellt ist',
  'home.because.license_ack': 'die Lizenz nicht bestätigt ist',
  'home.because.allow_list': 'keine Frequenzen erlaubt sind',
  'home.gate.country_code': 'Land',
  'home.gate.license_ack': 'Lizenz',
  'home.gate.allow_list': 'Frequenzen',
  'home.gate.set': 'gesetzt',
  'home.gate.missing': 'fehlt',
  'home.onAir': 'Die Box ist auf Sendung.',
  'home.unconfirmed': 'Der Sender soll aus sein, aber nichts bestätigt es.',
  'home.offAir.gates': 'Die Box ist nicht auf Sendung, weil {reasons}.',
  'home.offAir.armed': 'Die Box ist scharf geschaltet, aber ihr Sender ist aus.',
  'home.offAir.ready': 'Die Box ist nicht auf Sendung, weil niemand sie scharf geschaltet hat.',
  'home.and': ' und ',
}
