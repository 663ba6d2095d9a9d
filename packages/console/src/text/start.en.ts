/** Texts of setting a box up. */
export const startEn = {
  'start.title': 'Set the box up',
  'start.about': 'Five steps from a new box to a phone that is online. Each can be done again.',
  'start.done': 'Done',
  'start.open': 'To be done',
  'start.save': 'Save',
  'start.saved': 'Saved.',
  'start.config': 'in the configuration file, or {variable} of the service',
  'start.country': '1. Country',
  'start.country.is': 'The rules of {country} hold for the radio.',
  'start.country.missing':
    'It says {country}, a laboratory: nothing may be sent. Say where the box stands before it transmits.',
  'start.plmn': '2. Network number (PLMN)',
  'start.plmn.lab':
    'It is {plmn}, a number for laboratories that no operator has. Keep it until a regulator gives you one.',
  'start.plmn.is': 'It is {plmn}. SIMs that are issued carry it.',
  'start.apn': '3. Access to the internet (APN)',
  'start.apn.names': 'Names of the access points',
  'start.apn.help':
    'What phones have in their settings; separated by commas. The first is taken when a phone names none.',
  'start.person': '4. The first person',
  'start.person.about':
    'A person signs in with a name of their own, and the trail says who did what. The token of the first start is for emergencies.',
  'start.person.name': 'Name',
  'start.person.invite': 'Invite',
  'start.person.link': '{name} opens this link within three days and chooses a password. It is shown once.',
  'start.person.qr': 'the invitation',
  'start.person.copy': 'Copy the link',
  'start.sim': '5. A test SIM',
  'start.sim.about': 'One card to see that everything works, from its keys to the internet.',
  'start.sim.issue': 'Issue a test SIM',
  'start.sim.on': 'Its phone was online: the network works.',
  'start.sim.waiting': 'Waiting for its phone; the core has it: {state}.',
  'start.sim.insert':
    'Write the card and put it into a phone. Beside the lab core of npm start, on a terminal:',
  'start.provisioning.pending': 'not yet',
  'start.provisioning.synced': 'yes',
  'start.provisioning.failed': 'refused',
} as const

declare module './index.ts' {
  interface AreaTexts {
    readonly start: typeof startEn
  }
}
