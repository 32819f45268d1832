// The pages as text.

const UNSAFE = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' };

// Text that is HTML already.
class Html {
  constructor(text) {
    this.text = text;
  }
}

// PetClinic lets most columns be NULL; an absent text reads as an empty one.
const safe = (value) => {
  if (value instanceof Html) return value.text;
  if (Array.isArray(value)) return value.map(safe).join('');
  return String(value ?? '').replace(/[&<>"']/g, (c) => UNSAFE[c]);
};

// Tags a template literal whose values are made safe for a page.
const html = (parts, ...values) => new Html(parts.reduce((page, part, n) => page + safe(values[n - 1]) + part));

export const HOME = html`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Clinic</title></head>
<body><h1>Welcome</h1><p>The clinic keeps owners, their pets and their visits.</p>
<ul><li><a href="/owners/1">The first owner</a></li><li><a href="/fortunes">Fortunes</a></li></ul>
</body></html>
`.text;

export const NO_OWNER = '<!doctype html><title>Not found</title><p>There is no such owner.</p>\n';

const visit = ({ visit_date, description }) => html`; ${visit_date}: ${description}`;

const pet = ({ name, kind, birth_date, visits }) => html`<li>${name}, ${kind}, born ${birth_date}${visits.map(visit)}</li>
`;

export const ownerPage = (owner) => html`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Owner ${owner.id}</title></head>
<body><h1>Owner</h1>
<table>
<tr><th>Name</th><td>${owner.first_name} ${owner.last_name}</td></tr>
<tr><th>Address</th><td>${owner.address}</td></tr>
<tr><th>City</th><td>${owner.city}</td></tr>
<tr><th>Telephone</th><td>${owner.telephone}</td></tr>
</table>
<h2>Pets</h2>
<ul>
${owner.pets.map(pet)}</ul>
</body></html>
`.text;

const fortuneRow = ({ id, message }) => html`<tr><td>${id}</td><td>${message}</td></tr>
`;

// All fortunes and one more, made for this request, in the order of their words.
export const fortunesPage = (fortunes) => {
  const all = [...fortunes, { id: 0, message: 'Additional fortune added at request time.' }];
  // By code units, as the other targets do; localeCompare would be another order.
  all.sort((a, b) => (a.message < b.message ? -1 : 1));
  return html`<!doctype html>
<html><head><meta charset="utf-8"><title>Fortunes</title></head><body><table>
<tr><th>id</th><th>message</th></tr>
${all.map(fortuneRow)}</table></body></html>
`.text;
};
