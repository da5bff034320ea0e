"""Renders items of rustdoc's JSON as text that does not depend on ids, spans or crates."""

import re

FUTURE = re.compile(r"Pin<Box<dyn Future<Output = (.*)>( \+ Send)? \+ 'async_trait>>")
STD = ("std", "core", "alloc")


class Renderer:
    """Renders items, with `names` for the paths of our own types."""

    def __init__(self, items, names):
        self.items, self.names = items, names
        # The type whose methods are rendered. They may write its name or `Self`.
        self.own = None

    def name(self, crate, id_, written):
        """The name of a type or trait, by the rules in the docstring of public_items.py."""
        key = self.items.key(crate, id_)
        last = written.split("::")[-1]
        if key in self.names:
            return self.names[key].removeprefix("recount::")
        if key is None:
            return last
        if key[0] is not None or key[1][0] in self.items.docs:
            return f"private::{last}"
        path = key[1]
        if path[0] not in STD:
            # The traits of serde are defined in serde_core.
            return f"{path[0].removesuffix('_core')}::{path[-1]}"
        # `Error` and `Result` are told apart by their module.
        if path[-1] in ("Error", "Result") and path[1] != "result":
            return f"{path[1]}::{path[-1]}"
        return path[-1]

    def type(self, crate, type_):
        if isinstance(type_, str):
            return "_"
        (kind, x), = type_.items()
        if kind == "resolved_path":
            if self.own and x["id"] == self.own["id"] and x["args"] == self.own["args"]:
                return "Self"
            return self.name(crate, x["id"], x["path"]) + self.args(crate, x["args"])
        if kind == "generic":
            return x
        if kind == "primitive":
            return "!" if x == "never" else x
        if kind == "borrowed_ref":
            lifetime = f"{x['lifetime']} " if x["lifetime"] else ""
            inner = self.type(crate, x["type"])
            if " + " in inner and inner.startswith(("dyn ", "impl ")):
                inner = f"({inner})"
            return f"&{lifetime}{'mut ' if x['is_mutable'] else ''}{inner}"
        if kind == "raw_pointer":
            return f"*{'mut' if x['is_mutable'] else 'const'} {self.type(crate, x['type'])}"
        if kind == "tuple":
            inner = ", ".join(self.type(crate, t) for t in x)
            return f"({inner},)" if len(x) == 1 else f"({inner})"
        if kind == "slice":
            return f"[{self.type(crate, x)}]"
        if kind == "array":
            return f"[{self.type(crate, x['type'])}; {x['len']}]"
        if kind == "impl_trait":
            return f"impl {self.bounds(crate, x)}"
        if kind == "dyn_trait":
            traits = [self.poly(crate, t) for t in x["traits"]]
            return "dyn " + " + ".join(traits + ([x["lifetime"]] if x["lifetime"] else []))
        if kind == "function_pointer":
            inputs = ", ".join(self.type(crate, t) for _, t in x["sig"]["inputs"])
            binder, output = self.binder(crate, x["generic_params"]), self.output(crate, x["sig"])
            return f"{binder}fn({inputs}){output}"
        if kind == "qualified_path":
            own = self.type(crate, x["self_type"])
            if x["trait"] is None or (own == "Self" and not x["trait"]["path"]):
                return f"{own}::{x['name']}"
            trait = self.name(crate, x["trait"]["id"], x["trait"]["path"])
            trait += self.args(crate, x["trait"]["args"])
            return f"<{own} as {trait}>::{x['name']}{self.args(crate, x['args'])}"
        raise ValueError(f"a kind of type that is not known here: {kind}")

    def args(self, crate, args):
        if not args or args == "return_type_notation":
            return ""
        if "parenthesized" in args:
            x = args["parenthesized"]
            inputs = ", ".join(self.type(crate, t) for t in x["inputs"])
            return f"({inputs}){self.output(crate, x)}"
        x = args["angle_bracketed"]
        texts = [self.arg(crate, a) for a in x["args"]]
        for constraint in x["constraints"]:
            name = constraint["name"] + self.args(crate, constraint["args"])
            (kind, binding), = constraint["binding"].items()
            if kind == "equality":
                texts.append(f"{name} = {self.arg(crate, binding)}")
            else:
                texts.append(f"{name}: {self.bounds(crate, binding)}")
        return f"<{', '.join(texts)}>" if texts else ""

    def arg(self, crate, arg):
        if isinstance(arg, str):
            return "_"
        (kind, x), = arg.items()
        if kind == "type":
            return self.type(crate, x)
        return x if kind == "lifetime" else x["expr"]

    def output(self, crate, signature):
        return f" -> {self.type(crate, signature['output'])}" if signature["output"] else ""

    def binder(self, crate, params):
        return f"for<{', '.join(p['name'] for p in params)}> " if params else ""

    def poly(self, crate, x):
        trait = x["trait"]
        name = self.name(crate, trait["id"], trait["path"]) + self.args(crate, trait["args"])
        return self.binder(crate, x["generic_params"]) + name

    def bounds(self, crate, bounds):
        texts = []
        for bound in bounds:
            (kind, x), = bound.items()
            if kind == "trait_bound":
                maybe = "?" if x["modifier"] == "maybe" else ""
                texts.append(maybe + self.poly(crate, x))
            elif kind == "outlives":
                texts.append(x)
            else:
                texts.append("use<" + ", ".join(next(iter(a.values())) for a in x) + ">")
        return " + ".join(texts)

    def generics(self, crate, generics):
        """The parameters in angle brackets, and the `where` clause."""
        params = []
        for param in generics["params"]:
            (kind, x), = param["kind"].items()
            text = param["name"]
            if kind == "lifetime":
                text += f": {' + '.join(x['outlives'])}" if x["outlives"] else ""
            elif kind == "const":
                text = f"const {text}: {self.type(crate, x['type'])}"
            elif x["is_synthetic"]:
                continue
            else:
                text += f": {self.bounds(crate, x['bounds'])}" if x["bounds"] else ""
                text += f" = {self.type(crate, x['default'])}" if x["default"] else ""
            params.append(text)
        wheres = [self.predicate(crate, p) for p in generics["where_predicates"]]
        where = f" where {', '.join(sorted(w for w in wheres if w))}" if any(wheres) else ""
        return f"<{', '.join(params)}>" if params else "", where

    def predicate(self, crate, predicate):
        (kind, x), = predicate.items()
        if kind == "lifetime_predicate":
            return f"{x['lifetime']}: {' + '.join(x['outlives'])}" if x["outlives"] else ""
        if kind == "eq_predicate":
            return f"{self.type(crate, x['lhs'])} == {self.arg(crate, x['rhs'])}"
        if not x["bounds"]:
            return ""
        for_ = self.binder(crate, x["generic_params"])
        return f"{for_}{self.type(crate, x['type'])}: {self.bounds(crate, x['bounds'])}"

    def function(self, crate, x):
        inputs = ", ".join(self.input(crate, name, t) for name, t in x["sig"]["inputs"])
        output = self.output(crate, x["sig"])
        header = x["header"]
        words = "".join(w + " " for w in ("const", "async", "unsafe") if header[f"is_{w}"])
        if header["abi"] != "Rust":
            words += f"extern {header['abi']} "
        generics = x["generics"]
        if any(p["name"] == "'async_trait" for p in generics["params"]):
            generics = without_async_trait(generics)
            inputs = re.sub(r"'life\d+ ", "", inputs)
            future = FUTURE.fullmatch(output.removeprefix(" -> "))
            if future:
                output = "" if future[1] == "()" else f" -> {future[1]}"
                words = f"#[async_trait{'' if future[2] else '(?Send)'}] async {words}"
        params, where = self.generics(crate, generics)
        return f"{words}fn{params}({inputs}){output}{where}"

    def input(self, crate, name, type_):
        text = self.type(crate, type_)
        if name == "self" and re.fullmatch(r"(&('\w+ )?(mut )?)?Self", text):
            return text.removesuffix("Self") + "self"
        # An underscore only says that the body does not use the parameter.
        return f"{name.lstrip('_') or '_'}: {text}"

    def item(self, key, in_trait=False):
        """An item after its path: attributes, kind, signature."""
        item, kind, crate = self.items.item(key), self.items.kind(key), key[0]
        x = item["inner"][kind]
        marks = ""
        if {"other": "#[doc(hidden)]"} in item["attrs"]:
            marks += "#[doc(hidden)] "
        if "non_exhaustive" in item["attrs"]:
            marks += "#[non_exhaustive] "
        if item["deprecation"]:
            marks += "#[deprecated] "
        if in_trait and kind == "function":
            marks += "provided " if x["has_body"] else "required "
        return marks + self.described(crate, kind, x)

    def described(self, crate, kind, x):
        params, where = "", ""
        if isinstance(x, dict) and "generics" in x and kind != "function":
            params, where = self.generics(crate, x["generics"])
        if kind in ("module", "macro"):
            return {"module": "mod", "macro": "macro"}[kind]
        if kind == "function":
            return self.function(crate, x)
        if kind in ("struct", "union"):
            return f"{kind}{params}{self.shape(crate, x.get('kind', 'unit'))}{where}"
        if kind == "enum":
            return f"enum{params}{where}"
        if kind == "variant":
            value = f" = {x['discriminant']['expr']}" if x["discriminant"] else ""
            return f"variant{self.shape(crate, x['kind'])}{value}"
        if kind == "struct_field":
            return self.type(crate, x)
        if kind == "trait":
            bounds = f": {self.bounds(crate, x['bounds'])}" if x["bounds"] else ""
            closed = "" if x["is_dyn_compatible"] else " (not dyn-compatible)"
            return f"{'unsafe ' if x['is_unsafe'] else ''}trait{params}{bounds}{where}{closed}"
        if kind in ("constant", "static", "assoc_const"):
            return f"{'static' if kind == 'static' else 'const'} {self.type(crate, x['type'])}"
        if kind in ("type_alias", "assoc_type"):
            bounds = f": {self.bounds(crate, x['bounds'])}" if x.get("bounds") else ""
            value = f" = {self.type(crate, x['type'])}" if x["type"] else ""
            return f"type{params}{bounds}{value}{where}"
        raise ValueError(f"a kind of item that is not known here: {kind}")

    def shape(self, crate, kind):
        """The shape of a struct or variant. Fields in braces have lines of their own; `..` stands
        for private fields."""
        if isinstance(kind, str):
            return ""
        if "tuple" in kind:
            index = self.items.docs[crate]["index"]
            fields = [".." if id_ is None or str(id_) not in index else
                      self.type(crate, index[str(id_)]["inner"]["struct_field"])
                      for id_ in kind["tuple"]]
            return f"({', '.join(fields)})"
        (x,) = kind.values()
        return " { .. }" if x["has_stripped_fields"] else " { }"

    def implementation(self, key):
        """The trait of an implementation, and its line."""
        crate, inner = key[0], self.items.inner(key)
        params, where = self.generics(crate, inner["generics"])
        trait = self.name(crate, inner["trait"]["id"], inner["trait"]["path"])
        trait += self.args(crate, inner["trait"]["args"])
        target = self.type(crate, inner["for"])
        plain = re.fullmatch(r"[\w:]+", target) and not inner["generics"]["params"]
        for_ = "" if plain else f" for {target}"
        if trait == "serde::Deserialize<'de>" and params == "<'de>":
            params, for_ = "", ""
        index = self.items.docs[crate]["index"]
        parts = [index[str(i)] for i in inner["items"] if str(i) in index]
        types = [f"{p['name']} = {self.type(crate, p['inner']['assoc_type']['type'])}"
                 for p in parts if "assoc_type" in p["inner"]]
        with_ = f" {{ {', '.join(sorted(types))} }}" if types else ""
        negative = "!" if inner["is_negative"] else ""
        return trait, f"impl{params} {negative}{trait}{for_}{where}{with_}"

    def of_which(self, key):
        """The suffix of a method whose implementation has parameters or arguments."""
        crate, inner = key[0], self.items.inner(key)
        params, where = self.generics(crate, inner["generics"])
        args = self.args(crate, inner["for"]["resolved_path"]["args"])
        return f"  (impl{params} for {args}{where})" if params or where or args else ""


def without_async_trait(generics):
    """Removes the lifetimes that #[async_trait] adds, and their bounds."""
    params = [p for p in generics["params"]
              if not re.fullmatch(r"'async_trait|'life\d+", p["name"])]
    wheres = []
    for predicate in generics["where_predicates"]:
        (kind, x), = predicate.items()
        if kind == "lifetime_predicate":
            x = {**x, "outlives": [o for o in x["outlives"] if o != "'async_trait"]}
        elif kind == "bound_predicate":
            x = {**x, "bounds": [b for b in x["bounds"] if b != {"outlives": "'async_trait"}]}
        wheres.append({kind: x})
    return {"params": params, "where_predicates": wheres}
