/** Texts of the first screen. */
export const homeEn = {
  'home.title': 'Overview',
  'home.because.country_code': 'no country is set',
  'home.because.license_ack': 'the licence is not acknowledged',
  'home.because.allow_list': 'no frequencies are allowed',
  'home.gate.country_code': 'Country',
  'home.gate.license_ack': 'Licence',
  'home.gate.allow_list': 'Frequencies',
  'home.gate.set': 'set',
  'home.gate.missing': 'missing',
  'home.onAir': 'The box is on the air.',
  'home.unconfirmed': 'The transmitter was told to stop, but nothing confirms that it is off.',
  'home.offAir.gates': 'The box is not on the air, because {reasons}.',
  'home.offAir.armed': 'The box is armed, but its transmitter is off.',
  'home.offAir.ready': 'The box is not on the air, because nobody has armed it.',
  'home.and': ' and ',
} as const
