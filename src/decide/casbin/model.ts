/**
 * The shipped Casbin model, in a file that doesn't load Casbin; policies/model.conf must be the same (parse-policy.ts).
 */
export const MODEL = `
[request_definition]
r = sub, obj, act, rel, field
[policy_definition]
p = sub, obj, act, rel, fields, eft
[role_definition]
g = _, _
[policy_effect]
e = some(where (p.eft == allow)) && !some(where (p.eft == deny))
[matchers]
m = g(r.sub, p.sub) && covers(p.obj, r.obj) && performs(p.act, r.act) && fits(p.rel, r.rel) && names(p.fields, r.obj, r.field)
`
