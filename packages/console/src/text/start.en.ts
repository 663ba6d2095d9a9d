/** Texts of setting a box up. */
export const startEn = {
  'start.title': 'Set the box up',
  'start.about': 'Five steps from a new box to a phone that is online. Each can be done again.',
  'start.done': 'Done',
  'start.open': 'To be done',
  'start.save': 'Save',
  'start.look.back': 'Not now',
  'start.apply': 'Apply',
  'start.saved': 'Saved.',
  'start.inForce': 'Saved, and in force.',
  'start.byHand': 'The service may not write {file} itself. Put these lines into it:',
  'start.byHand.reload': 'Then let it be read again:',
  'start.byHand.fixed':
    '{key} is set by {by}, which wins over the file. Change it there and start the service anew.',
  'start.byHand.waiting': 'Waiting until it is in force.',
  'start.country': '1. Country',
  'start.country.is': 'The rules of {country} hold for the radio.',
  'start.country.missing': 'It is {country}. Say where the box stands before it transmits.',
  'start.country.lab': 'a laboratory: nothing may be sent',
  'start.country.where': 'Where the box stands',
  'start.country.help':
    'Its rules decide which frequencies may be allowed. What is on the air under other rules is stopped.',
  'start.plmn': '2. Network number (PLMN)',
  'start.plmn.lab':
    'It is {plmn}, a number for laboratories that no operator has. Keep it until a regulator gives you one.',
  'start.plmn.is': 'It is {plmn}. SIMs that are issued carry it.',
  'start.plmn.mcc': 'Country code (MCC)',
  'start.plmn.mcc.help': 'Three digits; 999 is for laboratories.',
  'start.plmn.mcc.of': 'Three digits: {code} in {country}, 999 for laboratories.',
  'start.plmn.mcc.wrong': 'Three digits, such as 999.',
  'start.plmn.mnc': 'Network code (MNC)',
  'start.plmn.mnc.help': 'Two or three digits, as the regulator gave it: 05 and 005 are two networks.',
  'start.plmn.mnc.wrong': 'Two or three digits, such as 99 or 070.',
  'start.plmn.unassigned': 'No country has the code {mcc}.',
  'start.plmn.elsewhere': '{mcc} is the code of {owners}, and the box stands in {country}.',
  'start.plmn.length': 'Networks of {owners} have three digits.',
  'start.plmn.sims': 'SIMs that are there carry {plmn}: under another number they do not get on.',
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
